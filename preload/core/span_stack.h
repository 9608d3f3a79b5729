/* SPDX-License-Identifier: Apache-2.0
 *
 * span_stack - the open spans whose begin was withheld: their ends must be
 * withheld, too. Stacks grow down: a frame whose stack pointer lies below that
 * of the running one has been left by longjmp.
 *
 * A signal handler may interrupt any line here, and push and pop for itself. So
 * an entry is counted before it is written, and cleared before it is given
 * back. An entry with sp 0 is cleared: it is a dead frame to everybody.
 *
 * For the thread that has the stack, in any context.
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

/* Forget the frames below @sp: the one at @sp is still there, so they are not.
 */
static inline void span_stack_repair(struct span_stack *stack, uintptr_t sp)
{
	while (stack->count && span_stack_top(stack)->sp < sp)
		span_stack_pop(stack);
}

/* False when the stack is full: then the span is only counted (above). */
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

/* @function ends. If nothing but annotations lies above it, they were never
 * ended: forget them. (The "function" of an annotation is below SITES_MAX.) */
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
 * An annotation ends, with the END @word, which has the sp hint of its begin.
 * True when the begin was pushed here: then it is taken off. A function that
 * the annotation's own has called may end it, so it may lie below spans that
 * are still open: then it is cleared, and goes when they go.
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

/* The same for an annotation that is not on the stack: it may be among those
 * that were only counted. */
static inline bool span_stack_end_above(struct span_stack *stack)
{
	if (!stack->above)
		return false;
	stack->above--;
	return true;
}

/*
 * The function @function ends. True when its begin was pushed here (then it is
 * taken off) or counted. @sp is near the stack pointer of its begin but rarely
 * equal: alloca() lowers it, and an exit hook that is tail-called finds the
 * frame gone already. So the function decides, and the stack pointer only if
 * the function is not the one on top.
 */
static inline bool span_stack_end(struct span_stack *stack, uint64_t function,
				  uintptr_t sp)
{
	struct open_span *top = span_stack_top(stack);

	if (!top)
		return false;
	/* What was counted in above ends first. It may be inlined into the top,
	 * or its exit hook tail-called: then they have one stack pointer. */
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
