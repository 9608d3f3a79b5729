/* SPDX-License-Identifier: Apache-2.0
 *
 * stacks - numbers distinct stacks of frames. The stacks of a process form a
 * tree: a node is a frame, a path from the root is a stack. Profiles count
 * samples and blocks of memory by these numbers. Any thread may call these
 * functions; a budget limits the memory.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_STACKS_H
#define PERFREC_COLLECTOR_PROFILE_STACKS_H

#include <stdint.h>

struct budget;
struct stacks;

enum frame_kind {
	FRAME_ENTRY = 0, /* first address of an instrumented function; or a
			  * site, below SITES_MAX */
	FRAME_PC = 1, /* address of an instruction: a leaf, or interrupted by a
		       * signal */
	FRAME_RETURN = 2, /* a return address: the call ends just before it */
	FRAME_NAMED = 3, /* address is an enum frame_name */
	FRAME_TEXT = 4, /* address is a const char *, owned by the recording's
			 * symbol cache: the object that a thread waits on */
	FRAME_LABEL = 5, /* a text as in FRAME_TEXT: outermost the trace id of a
			  * request, below that its span id. Only profiles show
			  * these, as labels */
	FRAME_KERNEL_CODE = 6, /* address is the number of a function of
				* kernel_names_shared(), 0: unknown. Callees of
				* FRAME_KERNEL */
};

enum frame_name {
	FRAME_KERNEL = 1, /* "[kernel]" */
	FRAME_UNKNOWN = 2, /* "[unknown]": no stack to unwind */
	FRAME_CUT = 3, /* "[truncated]": outermost frame of a cut stack */
	FRAME_OTHER = 4, /* "[other stacks]": no room for the stack */
	FRAME_SHORT = 5, /* "[short threads]": ended before a sample */
	FRAME_PROBED = 6, /* "[uretprobe]": only the kernel knows the caller */
	FRAME_PERFREC = 7, /* "[perfrec]": its own work in the program */
};

struct stack_frame {
	uint64_t address;
	uint32_t generation; /* of the load map */
	uint32_t kind; /* enum frame_kind */
};

/* Returns the text of @name, the address of a FRAME_NAMED. For an unknown
 * number, that of FRAME_UNKNOWN. */
const char *stacks_frame_name(uint64_t name);
/* Returns the text of @frame, a FRAME_TEXT or FRAME_LABEL. */
static inline const char *stack_frame_text(const struct stack_frame *frame)
{
	return (const char *)(uintptr_t)frame->address; /* NOLINT */
}

/* The empty stack. */
#define STACKS_ROOT 0u

/* Sets *@out to an empty tree, which the caller frees with stacks_free().
 * @budget must outlive it. Returns 0 or -ENOMEM. */
int stacks_new(struct budget *budget, struct stacks **out);
/* Frees *@stacks, which may be NULL, and clears it. */
void stacks_free(struct stacks **stacks);

/*
 * Returns the number of the stack that consists of the stack @parent and its
 * callee @frame. Equal stacks have equal numbers. When the budget is used up, a
 * new stack gets the number of the stack with the only frame FRAME_OTHER, which
 * needs no memory.
 */
uint32_t stacks_child(struct stacks *stacks, uint32_t parent,
		      const struct stack_frame *frame);
/* Returns the stack with the frames of @stack below those of @root, with one
 * lock; of a deeper @stack only its innermost STACKS_BELOW_MAX frames. */
#define STACKS_BELOW_MAX 512u
uint32_t stacks_below(struct stacks *stacks, uint32_t root, uint32_t stack);
/* Return the stack that called the innermost frame of @stack, and that frame.
 * @stack must come from stacks_child(). */
uint32_t stacks_parent(struct stacks *stacks, uint32_t stack);
struct stack_frame stacks_frame(struct stacks *stacks, uint32_t stack);
/* Returns a number above all numbers so far. */
uint32_t stacks_count(struct stacks *stacks);
/* Returns the number of calls of stacks_child() without room so far. */
uint64_t stacks_lost(struct stacks *stacks);

#endif
