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

#include "collector/code/code_site.h"

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

struct elf_functions;

struct code_input { /* an ELF file */
	int fd; /* a regular file; used if read is NULL */
	/* Copies up to @bytes at @offset to @out (code_file.h). NULL: @fd is
	 * read in this process; not for files that others have made. */
	int (*read)(void *context, uint64_t offset, size_t bytes, void *out,
		    size_t *got);
	uint64_t size; /* of the file, with read */
	/* Reads its symbol tables into *@out, as elf_read_functions() does. 0
	 * or -errno. NULL: they are read in this process; not for files that
	 * others have made. */
	int (*functions)(void *context, struct elf_functions *out);
	void *context;
};

/*
 * Begins a plan of the file @input, which stays the caller's. @limits may be
 * NULL: the usual ones. Reads tables and text: about 4 ms per MB. 0: call
 * code_plan_step(). Else -errno, and *@why says in a few words what is wrong (a
 * string that the caller does not free); *@out is then NULL. -ENODATA: the
 * file calls no hooks and has no table of entries. -EPERM: it defines the hooks
 * itself. The caller frees the plan.
 */
int code_plan_begin(const struct code_input *input,
		    const struct code_limits *limits, struct code_plan **out,
		    const char **why);

/*
 * Goes on for about @bytes of text (a function is never cut), at about 12 MB
 * a second. 1: there is more
 * to do. 0: the plan is ready. -ENOMEM: the plan is of no use, free it. Nothing
 * but @work may be used before the plan is ready, since any part of the text
 * may have a copy of any function inlined.
 */
int code_plan_step(struct code_plan *plan, uint64_t bytes);

/* Both in one call, for a file that is trusted. */
int code_plan_new(int fd, const struct code_limits *limits,
		  struct code_plan **out, const char **why);

/* Also one that is not ready. *@plan may be NULL, and is after. */
void code_plan_free(struct code_plan **plan);

/* A few words for people: "its address is not constant at a call of a hook". */
const char *code_refusal_text(enum code_refusal refusal);
/* A short name: "call", "jump-got", "xray-exit". */
const char *code_form_name(enum code_form form);

#endif
