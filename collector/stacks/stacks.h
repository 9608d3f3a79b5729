/* SPDX-License-Identifier: Apache-2.0
 *
 * stacks - gives each distinct stack of frames a number. The stacks of a
 * process form a tree: a node is a frame, and a path from the root is a stack.
 * Samples and blocks of memory are counted by these numbers. Any thread may
 * call these functions; a budget bounds the memory.
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
	FRAME_TEXT = 4, /* address is a const char *: a text of the recording's
			 * symbol cache, what a thread waits on */
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

/* The text of @frame, which is a FRAME_TEXT. */
static inline const char *stack_frame_text(const struct stack_frame *frame)
{
	return (const char *)(uintptr_t)frame->address; /* NOLINT */
}

/* The empty stack. */
#define STACKS_ROOT 0u

/* 0 or -ENOMEM. @budget must outlive *@out, which the caller ends by
 * stacks_free(). */
int stacks_new(struct budget *budget, struct stacks **out);
/* Frees *@stacks, which may be NULL, and clears it. Nobody may use it then. */
void stacks_free(struct stacks **stacks);

/*
 * The number of the stack whose innermost frame is @frame, called from the
 * stack @parent. Equal frames called from equal stacks have equal numbers. When
 * the budget is used up, a new stack gets the number of the stack of one frame
 * FRAME_OTHER, which is always there.
 */
uint32_t stacks_child(struct stacks *stacks, uint32_t parent,
		      const struct stack_frame *frame);
/* The caller of @stack, and its innermost frame. @stack must be a number that
 * stacks_child() has returned. */
uint32_t stacks_parent(struct stacks *stacks, uint32_t stack);
struct stack_frame stacks_frame(struct stacks *stacks, uint32_t stack);
/* All numbers so far are smaller than this. */
uint32_t stacks_count(struct stacks *stacks);
/* How many stacks found no room so far. */
uint64_t stacks_lost(struct stacks *stacks);

#endif
