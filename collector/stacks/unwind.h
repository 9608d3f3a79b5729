/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind - finds the frames of a copied stack: the registers of a thread, and
 * the bytes from its stack pointer up. It uses the frame descriptions in the
 * files of the process; a function that has none is left by its frame pointer.
 * One thread: the sampler.
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

/* What unwinding has read (stack_cache.c says what for). Each register and word
 * is there once. What was read before decides what is read next. */
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

struct unwind_stack { /* what is unwound; not changed */
	const uint64_t *reg; /* RECORD_REGS of them */
	uint64_t unknown_reg; /* one bit for each that is not known; never ip
			       * and sp */
	const uint8_t *stack; /* what lies at the stack pointer and up */
	uint32_t stack_bytes; /* at most UNWIND_WINDOW */
	uint32_t generation; /* of the load map */
};

struct unwind_result {
	struct stack_frame frame[UNWIND_FRAMES_MAX]; /* innermost first */
	size_t count; /* at least 1 */
	bool cut; /* the last frame is FRAME_CUT */
	bool is_short; /* cut as more of the stack was needed than was copied */
	bool guessed; /* at least one frame was left by its frame pointer */
	/* Until the next edition, whoever reads the same values has the same
	 * frames. */
	bool repeatable;
	struct unwind_read read[UNWIND_READS_MAX];
	size_t read_count;
};

/* An unwinder for the process of @modules, of which it takes a reference of its
 * own. @files must outlive it. 0 or -ENOMEM. */
int unwind_new(struct modules *modules, struct unwind_files *files,
	       struct unwind **out);
/* Also for NULL. */
void unwind_free(struct unwind **unwind);
/* The number of the edition, for stacks of @generation. It becomes another one
 * when the same reads may mean other frames: with another generation, or when
 * files were forgotten. Call it before each stack. */
uint64_t unwind_edition(struct unwind *unwind, uint32_t generation);
/* Finds the frames of @stack, into *@out. Its generation must be the one of the
 * last unwind_edition(). There is always at least one frame. */
void unwind_run(struct unwind *unwind, const struct unwind_stack *stack,
		struct unwind_result *out);

#endif
