/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind - finds the frames of a copied stack: the registers of a thread, and
 * the bytes from its stack pointer up. It uses the frame descriptions in the
 * files of the process, and the frame pointer for a function without one. Only
 * for the sampler's thread.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_UNWIND_H
#define PERFREC_COLLECTOR_PROFILE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/profile/stacks.h"

struct modules;
struct unwind;
struct unwind_files;

/* Frames of a stack, the mark FRAME_CUT included. */
#define UNWIND_FRAMES_MAX 256

/* More than any copy of a stack; see stack_cache.c. */
#define UNWIND_WINDOW (128u << 10)

/* The reads that unwinding has made, for stack_cache.c, each register and word
 * once. A read depends only on the values of earlier reads. */
enum unwind_query {
	UNWIND_REGISTER, /* where: its number */
	UNWIND_WORD, /* where: bytes above the stack pointer */
};

struct unwind_read {
	enum unwind_query query;
	uint32_t where;
	uint64_t value;
	bool failed; /* it is not in the copy, or is unknown */
};

#define UNWIND_READS_MAX (4 * UNWIND_FRAMES_MAX)

struct unwind_stack { /* input, not changed */
	const uint64_t *reg; /* RECORD_REGS of them */
	uint64_t unknown_reg; /* a bit for each unknown register; never ip and
			       * sp */
	const uint8_t *stack; /* the bytes from the stack pointer up */
	uint32_t stack_bytes; /* at most UNWIND_WINDOW */
	uint32_t generation; /* of the load map */
};

struct unwind_result {
	struct stack_frame frame[UNWIND_FRAMES_MAX]; /* innermost first */
	size_t count; /* at least 1 */
	bool cut; /* the last frame is FRAME_CUT */
	bool is_short; /* cut because the copy of the stack was too short */
	bool guessed; /* at least one step used the frame pointer */
	/* Until the next edition the same reads give the same frames. */
	bool repeatable;
	struct unwind_read read[UNWIND_READS_MAX];
	size_t read_count;
};

/* Sets *@out to an unwinder for the process of @modules. It holds a reference
 * to @modules; @files must outlive it. Returns 0 or -ENOMEM. */
int unwind_new(struct modules *modules, struct unwind_files *files,
	       struct unwind **out);
/* Frees *@unwind, which may be NULL, and clears it. */
void unwind_free(struct unwind **unwind);
/* Returns the edition for stacks of @generation. The edition changes when equal
 * reads may mean other frames: with another generation, or after
 * unwind_files_edition() has dropped files. Call it before each stack. */
uint64_t unwind_edition(struct unwind *unwind, uint32_t generation);
/* Sets *@out to the frames of @stack, at least one. The generation of @stack
 * must be the one of the last unwind_edition(). */
void unwind_run(struct unwind *unwind, const struct unwind_stack *stack,
		struct unwind_result *out);

#endif
