/* SPDX-License-Identifier: Apache-2.0
 *
 * stacks - distinct stacks of frames, each once, with a number: a tree whose
 * nodes are frames and whose paths from the root are stacks. What blocks and
 * samples are counted by. Any thread; memory is bounded by a budget.
 */
#ifndef PERFREC_COLLECTOR_STACKS_STACKS_H
#define PERFREC_COLLECTOR_STACKS_STACKS_H

#include <stdint.h>

struct budget;
struct stacks;

enum frame_kind {
	FRAME_ENTRY = 0, /* of an instrumented function (or a site: an address
			  * below SITES_MAX): its first address */
	FRAME_PC = 1, /* the very instruction: a leaf, or what a signal
		       * interrupted */
	FRAME_RETURN = 2, /* a return address: the call ends just before it */
	FRAME_NAMED = 3, /* address is an enum frame_name */
};

enum frame_name {
	FRAME_KERNEL = 1, /* "[kernel]" */
	FRAME_UNKNOWN = 2, /* "[unknown]": there was no stack to unwind */
	FRAME_CUT = 3, /* "[truncated]": outermost of one that was cut */
	FRAME_OTHER = 4, /* "[other stacks]": there was no room for it */
	FRAME_SHORT = 5, /* "[short threads]": they ended before a sample */
};

struct stack_frame {
	uint64_t address;
	uint32_t generation; /* of the load map */
	uint32_t kind; /* enum frame_kind */
};

/* The empty stack. */
#define STACKS_ROOT 0u

/* 0 or -ENOMEM. @budget must outlive it. */
int stacks_new(struct budget *budget, struct stacks **out);
/* Also for NULL. */
void stacks_free(struct stacks **stacks);

/*
 * The number of the stack that is @frame, called from the stack @parent. When
 * the budget is used up, that of the one-frame stack FRAME_OTHER, which is
 * always there. Equal frames below equal parents have equal numbers.
 */
uint32_t stacks_child(struct stacks *stacks, uint32_t parent,
		      const struct stack_frame *frame);
/* Of any number that stacks_child() returned. */
uint32_t stacks_parent(struct stacks *stacks, uint32_t stack);
struct stack_frame stacks_frame(struct stacks *stacks, uint32_t stack);
/* Numbers are below this; it grows. */
uint32_t stacks_count(struct stacks *stacks);
/* Stacks that found no room, so far. */
uint64_t stacks_lost(struct stacks *stacks);

#endif
