/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind - from a copied stack to its frames: registers and the bytes from the
 * stack pointer up, of a thread of one process, by the frame descriptions of
 * its files. Where there is none, by frame pointers. One thread: the sampler.
 */
#ifndef PERFREC_COLLECTOR_STACKS_UNWIND_H
#define PERFREC_COLLECTOR_STACKS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/stacks/stacks.h"

struct modules;
struct unwind;
struct unwind_files;

/* Frames of a stack, the mark FRAME_CUT included. */
#define UNWIND_FRAMES_MAX 256

/* More than any copy of a stack; see stack_cache.c. */
#define UNWIND_WINDOW (128u << 10)

/* What the frames of a stack were found out from: see stack_cache.h. Each is
 * asked for once, in an order that what was asked before decides. */
enum unwind_query {
	UNWIND_REGISTER, /* where: its number */
	UNWIND_WORD, /* where: bytes above the stack pointer */
};

struct unwind_read {
	enum unwind_query query;
	uint32_t where;
	uint64_t value;
	bool failed; /* it is not in the copy */
};

#define UNWIND_READS_MAX (4 * UNWIND_FRAMES_MAX)

struct unwind_stack { /* what is unwound; not changed */
	const uint64_t *reg; /* RECORD_REGS of them */
	const uint8_t *stack; /* what lies at the stack pointer and up */
	uint32_t stack_bytes; /* at most UNWIND_WINDOW */
	uint32_t generation; /* of the load map */
};

struct unwind_result {
	struct stack_frame frame[UNWIND_FRAMES_MAX]; /* innermost first */
	size_t count; /* at least 1 */
	bool cut; /* the last frame is FRAME_CUT */
	bool is_short; /* since more of the stack was needed than was copied */
	bool guessed; /* by frame pointers, at least once */
	/* The same reads will always have these frames, until the next
	 * edition. */
	bool repeatable;
	struct unwind_read read[UNWIND_READS_MAX];
	size_t read_count;
};

/* For the process of @modules, of which it takes a reference. 0 or -ENOMEM. */
int unwind_new(struct modules *modules, struct unwind_files *files,
	       struct unwind **out);
/* Also for NULL. */
void unwind_free(struct unwind **unwind);
/* A number that is another one when the same reads may mean other frames: in
 * another @generation, or when files were forgotten. Ask before each stack. */
uint64_t unwind_edition(struct unwind *unwind, uint32_t generation);
/* The frames of @stack, of the generation of the last unwind_edition(). */
void unwind_run(struct unwind *unwind, const struct unwind_stack *stack,
		struct unwind_result *out);

#endif
