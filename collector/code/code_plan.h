/* SPDX-License-Identifier: Apache-2.0
 *
 * code_plan - where an ELF file calls hooks, and for which functions: what the
 * collector must know before it changes a call (docs/OVERHEAD.md). Pure: reads
 * the file, writes nothing.
 *
 * A *site* is an instruction that calls a hook, or could. In a calls build
 * (-finstrument-functions) it calls __cyg_profile_func_enter or _exit, with the
 * function's address in rdi. In an entry build (-mfentry, XRay) it is the call
 * at the function's begin, or what the compiler left before each return.
 *
 * A site is only in the plan if its instruction was decoded on the way from the
 * begin of its function, and if the functions that it may stand for are known
 * on all paths to it. A function is *refused* if any of its sites cannot be
 * changed, or might not be known: then none of its sites may be.
 *
 * The file is hostile: it may claim anything and change while it is read. It is
 * read, never mapped; all tables have limits. A plan is for one thread at a
 * time. Nothing here waits for a program.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_PLAN_H
#define PERFREC_COLLECTOR_CODE_CODE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum code_form {
	/* Calls builds. */
	CODE_CALL, /* E8 rel32: through the PLT */
	CODE_CALL_67, /* 67 E8 rel32: the same, relaxed by the linker */
	CODE_CALL_GOT, /* FF 15 disp32: through the GOT */
	CODE_JUMP, /* E9 rel32: a tail jump to the exit hook */
	CODE_JUMP_GOT, /* FF 25 disp32 */
	/* Entry builds by gcc. */
	CODE_ENTRY_CALL, /* E8 rel32: of the module's own stub, which returns */
	CODE_ENTRY_CALL_67, /* 67 E8 rel32: the same */
	CODE_EXIT_NOP, /* 0F 1F 44 00 00: before a return or a tail jump */
	/* Entry builds by clang: XRay's sleds. */
	CODE_XRAY_ENTRY, /* EB 09 and nine bytes of nop */
	CODE_XRAY_EXIT, /* C3 and ten bytes of nop: the return itself */
	CODE_XRAY_TAIL, /* EB 09 and nine bytes of nop, before a tail jump */
	CODE_FORMS,
};

#define CODE_SITE_BYTES 12u

struct code_site {
	uint64_t address; /* of its first byte: virtual, as in the file */
	uint8_t form; /* enum code_form */
	uint8_t length; /* bytes of the whole form, at most CODE_SITE_BYTES */
	bool is_exit;
	/* Exits of entry builds: the instruction that follows jumps by r11. */
	bool r11_live;
	uint8_t bytes[CODE_SITE_BYTES]; /* as in the file, the rest is 0 */
	/* The functions that it may stand for: code_plan.site_functions[first]
	 * and the @count - 1 that follow, numbers in code_plan.functions. It
	 * takes the loudest state of them. Entry builds: always one. */
	uint32_t first, count;
};

enum code_refusal {
	CODE_NOT_REFUSED,
	CODE_UNKNOWN_FUNCTION, /* a site's rdi is no constant */
	CODE_UNKNOWN_FORM, /* the hook is called in another form */
	CODE_THROUGH_REGISTER, /* the hook's address is loaded, not called */
	CODE_UNDECODED, /* code that cannot be decoded, or overlaps */
	CODE_TOO_LARGE, /* beyond the limits on work or memory */
	CODE_NO_ENTRY, /* exits, but no call at its begin */
	CODE_EXIT_MISSING, /* entry build: a way out without a nop */
	CODE_STUB_NOT_OURS, /* entry build: calls no stub of the module */
	CODE_TWO_ADDRESSES, /* meant by its address and through the GOT */
	CODE_REFUSALS,
};

struct code_function {
	uint64_t address; /* virtual, as in the file; 0: the function is not in
			   * the file, but inlined here */
	/* 0: it is @address, moved with the module. Else the virtual address of
	 * 8 bytes in the GOT, where the program has the function's address: a
	 * symbol that another module may have defined first. So the same
	 * function may have sites in several modules. */
	uint64_t slot;
	uint8_t refused; /* enum code_refusal */
	bool entry_build;
	/* The site or instruction that is the reason of the refusal, or 0. */
	uint64_t refused_at;
	/* Its sites: code_plan.function_sites[first] and the @count - 1 that
	 * follow, numbers in code_plan.sites. */
	uint32_t first, count;
};

struct code_plan_work; /* what a plan is made with */

struct code_plan {
	struct code_function *functions; /* by address, then slot */
	size_t function_count;
	struct code_site *sites; /* by address, no two overlap */
	size_t site_count;
	uint32_t *site_functions;
	uint32_t *function_sites;
	/* For messages. */
	uint64_t text_bytes; /* executable, in the file */
	uint64_t decoded; /* instructions */
	uint32_t unknown_sites; /* calls of hooks that are not in @sites */
	struct code_plan_work *work; /* NULL when the plan is ready */
};

struct code_limits {
	uint64_t text_bytes; /* a file with more executable bytes: -EFBIG */
	uint64_t memory; /* bytes that plan and work may take: -ENOMEM */
};

/* 1 GiB of text, 1 GiB of memory. */
extern const struct code_limits code_limits_usual;

/*
 * Begins a plan of the ELF file behind @fd, a regular file, which stays the
 * caller's and must stay open until the plan is ready. @limits may be NULL: the
 * usual ones. Reads tables and text: about 1 ms per 2 MB. 0: call
 * code_plan_step(). Else -errno, and *@why says in a few words what is wrong (a
 * string that the caller does not free); *@out is then NULL. -ENODATA: the
 * file calls no hooks and has no table of entries. -EPERM: it defines the hooks
 * itself. The caller frees the plan.
 */
int code_plan_begin(int fd, const struct code_limits *limits,
		    struct code_plan **out, const char **why);

/*
 * Goes on for about @bytes of text (a function is never cut). 1: there is more
 * to do. 0: the plan is ready. -ENOMEM: the plan is of no use, free it. Nothing
 * but @work may be used before the plan is ready, since any part of the text
 * may have a copy of any function inlined.
 */
int code_plan_step(struct code_plan *plan, uint64_t bytes);

/* Both in one call. */
int code_plan_new(int fd, const struct code_limits *limits,
		  struct code_plan **out, const char **why);

/* Also one that is not ready. *@plan may be NULL, and is after. */
void code_plan_free(struct code_plan **plan);

/* The number of the function at @address that has no slot. False: none. */
bool code_plan_find(const struct code_plan *plan, uint64_t address,
		    uint32_t *out);

/* A few words for people: "its address is not constant at a call of a hook". */
const char *code_refusal_text(enum code_refusal refusal);
/* A short name: "call", "jump-got", "xray-exit". */
const char *code_form_name(enum code_form form);

#endif
