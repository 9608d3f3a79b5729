/* SPDX-License-Identifier: Apache-2.0
 *
 * code_plan - lists the calls of hooks in an ELF file and the functions they
 * report, which the collector needs before it changes a call
 * (docs/OVERHEAD.md). Pure: reads the file, writes nothing.
 *
 * A *site* is an instruction that calls a hook, or can be made to. In a calls
 * build (-finstrument-functions) it calls __cyg_profile_func_enter or _exit
 * with the function's address in rdi. In an entry build (-mfentry, XRay) it is
 * the call at the start of the function, or the nop before each return.
 *
 * A file without hooks can be planned as well: the site of a function is then
 * its first bytes, which become a jump to its thunk (code_moves.h).
 *
 * So can the calls of functions in other files: the site of such a function is
 * its slot in the global offset table (code_calls.h).
 *
 * A function is *refused* if any of its sites cannot be changed or may be
 * unknown. None of its sites may be changed then.
 *
 * The file is hostile, and may change while it is read. It is read, never
 * mapped, and all tables have limits. A plan belongs to one thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_PLAN_H
#define PERFREC_COLLECTOR_CODE_CODE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/code/code_moves.h"
#include "collector/code/code_site.h"

struct code_plan_work;

struct code_plan {
	struct code_function *functions; /* sorted by address, then slot */
	size_t function_count;
	struct code_site *sites; /* sorted by address, no overlaps */
	size_t site_count;
	uint32_t *site_functions;
	uint32_t *function_sites;
	struct code_moves moves; /* of the sites of form CODE_MOVED */
	bool is_moved; /* the file has no hooks: its functions are moved */
	char *slot_names; /* of functions that are called through slots */
	/* For messages. */
	uint64_t text_bytes;
	uint64_t decoded;
	uint32_t unknown_sites; /* calls of hooks that are not in @sites */
	struct code_plan_work *work; /* NULL when the plan is finished */
};

struct code_limits {
	uint64_t text_bytes; /* above: -EFBIG */
	uint64_t memory; /* above: -ENOMEM */
};

/* 1 GiB of text, 1 GiB of memory. */
extern const struct code_limits code_limits_usual;

struct elf_functions;

struct code_input {
	int fd;
	/* As in struct code_source. NULL: reads trusted files from @fd. */
	int (*read)(void *context, uint64_t offset, size_t bytes, void *out,
		    size_t *got);
	uint64_t size;
	/* As elf_read_functions(). NULL: reads trusted files from @fd. */
	int (*functions)(void *context, struct elf_functions *out);
	void *context;
	/* Also plan a file without hooks. Move the functions of an entry build
	 * where possible; the others keep their sites. */
	bool moves;
	/* Also plan calls of functions with a @name that this returns true for.
	 * NULL: of none. */
	bool (*calls)(void *context, const char *name);
};

/*
 * Starts a plan for the file @input, which stays the caller's. @limits may be
 * NULL. Takes about 4 ms per MB. Returns 0 if code_plan_step() shall continue.
 * Otherwise returns -errno with a static text in *@why. -ENODATA: no calls of
 * hooks and no table of entries. -EPERM: the file defines the hooks itself. The
 * caller frees the plan.
 */
int code_plan_begin(const struct code_input *input,
		    const struct code_limits *limits, struct code_plan **out,
		    const char **why);

/* Follows about @bytes of text, at about 12 MB a second, in whole functions.
 * Returns 1 if there is more, 0 when the plan is finished, or -ENOMEM: free it.
 * An unfinished plan is unusable, since any text may have any function
 * inlined. */
int code_plan_step(struct code_plan *plan, uint64_t bytes);

/* Returns true if @function of @plan, which is finished, is connected by moving
 * it, or would be if it were not refused. */
bool code_plan_moves(const struct code_plan *plan,
		     const struct code_function *function);

/* Makes a whole plan. For trusted files only. */
int code_plan_new(int fd, const struct code_limits *limits,
		  struct code_plan **out, const char **why);

/* Frees a plan, finished or not. *@plan may be NULL. */
void code_plan_free(struct code_plan **plan);

/* Returns a phrase: "a call of a hook through a register". */
const char *code_refusal_text(enum code_refusal refusal);
/* Returns a short name: "jump-got". */
const char *code_form_name(enum code_form form);

#endif
