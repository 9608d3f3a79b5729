/* SPDX-License-Identifier: Apache-2.0
 *
 * span_stack - open spans that the shim itself must remember: the ones whose
 * begin was withheld. Stacks grow down: a frame whose stack pointer lies below
 * the running one's has been left by longjmp.
 *
 * A signal handler may interrupt any line here and push and pop for itself:
 * so an entry is counted before it is written and cleared before it is given
 * back, and a cleared one (sp 0) is a dead frame to everybody.
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

/* Forget frames that a frame at @sp outlived. */
static inline void span_stack_repair(struct span_stack *stack, uintptr_t sp)
{
	while (stack->count && span_stack_top(stack)->sp < sp)
		span_stack_pop(stack);
}

/* False when the stack is full; the span is then counted in above. */
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

/* Forget annotations (a "function" below SITES_MAX) that nobody has ended, if
 * what ends, @function, is right below them. */
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
 * The END @word of an annotation: true when its begin was pushed here, and it
 * is taken off. It may lie below what is still open, as a function that is
 * called from there can end it: then it is cleared, and goes with what lies
 * above it. The hint in @word is that of its begin.
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

/* It was not pushed, but may be among those counted in above. */
static inline bool span_stack_end_above(struct span_stack *stack)
{
	if (!stack->above)
		return false;
	stack->above--;
	return true;
}

/*
 * The function @function ends: true when its begin was pushed here (or
 * counted in above), and it is taken off. @sp is near the one it began at but
 * rarely equal: alloca() lowers it, and an exit hook that is tail-called
 * finds the frame gone already. So the function decides, and the stack
 * pointer only once it does not fit.
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
