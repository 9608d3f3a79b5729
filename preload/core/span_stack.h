/* SPDX-License-Identifier: Apache-2.0
 *
 * span_stack - open spans with a withheld begin: their ends must be withheld as
 * well. Stacks grow down, so a frame below the current stack pointer is dead:
 * longjmp() has left it.
 *
 * A signal handler may interrupt any line and push and pop spans. So push
 * counts an entry before it writes the entry, and pop clears it before it
 * lowers the count. A cleared entry has sp 0: a dead frame.
 *
 * Only the owner of the stack calls these functions, in any context.
 */
#ifndef PERFREC_PRELOAD_CORE_SPAN_STACK_H
#define PERFREC_PRELOAD_CORE_SPAN_STACK_H

#include "preload/core/thread.h"

static inline struct open_span *span_stack_top(struct span_stack *stack)
{
	return stack->count ? &stack->span[stack->count - 1] : NULL;
}

static inline void span_stack_pop(struct span_stack *stack)
{
	uint64_t left = stack->count - 1;

	stack->span[left] = (struct open_span){ 0, 0 };
	stack->count = left;
	stack->above = 0;
}

/* Pops the dead frames below @sp. */
static inline void span_stack_repair(struct span_stack *stack, uintptr_t sp)
{
	while (stack->count && span_stack_top(stack)->sp < sp)
		span_stack_pop(stack);
}

/* Returns false if the stack is full: the span is only counted (above). */
static inline bool span_stack_push(struct span_stack *stack, uint64_t function,
				   uintptr_t sp)
{
	if (stack->count >= SPAN_STACK_MAX) {
		stack->above++;
		return false;
	}
	stack->count++;
	stack->span[stack->count - 1] = (struct open_span){ function, sp };
	return true;
}

/* @function ends: pops annotations without an end above it. (Their "function"
 * is below SITES_MAX.) */
static inline void span_stack_repair_notes(struct span_stack *stack,
					   uint64_t function)
{
	uint64_t i = stack->count;

	while (i && stack->span[i - 1].function < SITES_MAX &&
	       stack->span[i - 1].function != function)
		i--;
	if (i && stack->span[i - 1].function == function)
		while (stack->count > i)
			span_stack_pop(stack);
}

/*
 * An annotation ends by the END @word, which has the sp hint of its BEGIN.
 * Removes its entry and returns true if the stack has one. A callee may end its
 * caller's annotation below spans that are still open: then the entry is
 * cleared, and popped after them.
 */
static inline bool span_stack_end_note(struct span_stack *stack, uint64_t word)
{
	uint64_t i = stack->count;

	while (i && (stack->span[i - 1].function != record_payload(word) ||
		     ((stack->span[i - 1].sp ^ word) & RECORD_SP_MASK)))
		i--;
	if (i && i == stack->count)
		span_stack_pop(stack);
	else if (i)
		stack->span[i - 1] = (struct open_span){ 0, 0 };
	return i;
}

/* For an annotation that is not on the stack, but perhaps counted in above. */
static inline bool span_stack_end_above(struct span_stack *stack)
{
	if (!stack->above)
		return false;
	stack->above--;
	return true;
}

/*
 * @function ends. Returns true if its begin was withheld, and pops its entry.
 * @sp is near the stack pointer at the begin hook but rarely equal: alloca()
 * lowers it, and a tail-called exit hook runs after its frame is gone. So the
 * function is compared first, and the stack pointer only if another function is
 * on top.
 */
static inline bool span_stack_end(struct span_stack *stack, uint64_t function,
				  uintptr_t sp)
{
	struct open_span *top = span_stack_top(stack);

	if (!top)
		return false;
	/* Spans counted in above end first. If inlined into the top span, or if
	 * its exit hook is tail-called, both have one stack pointer. */
	if (stack->above && top->sp >= sp) {
		stack->above--;
		return true;
	}
	if (top->function != function) {
		span_stack_repair(stack, sp);
		span_stack_repair_notes(stack, function);
	}
	top = span_stack_top(stack);
	if (!top || top->function != function)
		return false;
	span_stack_pop(stack);
	return true;
}

#endif
