/* SPDX-License-Identifier: Apache-2.0
 *
 * depth - leaves out the spans that --depth would cut anyway.
 *
 * How deep a span lies is decided in one place: by replay, which has the rules
 * for jumps, exceptions and contexts. The shim must never decide otherwise. So
 * it leaves out only what is certain. Its stack of open spans has two
 * properties:
 *
 *   - It holds nothing that is not open for replay, and holds it in the same
 *     order. So a span with N others below it on this stack lies at least N
 *     deep. Where the shim is not sure it forgets entries, and records more
 *     spans than it needs to.
 *   - Every open span that was left out is on it, above all others. So the end
 *     of such a span is known by its function, as replay would have matched it.
 *     The stack pointer decides nothing here: functions that are inlined into
 *     each other share it, and an exit hook that is tail-called has that of its
 *     caller.
 *
 * Control may go by other means than call and return: then there is a FLOW
 * record (also of setjmp(), which a jump comes back to). Just before it, the
 * begins that were left out are recorded late. Replay then has the whole stack,
 * applies its rules, and cuts those spans itself. The shim forgets what the
 * jump may have ended. The same happens when the stack is full.
 *
 * A signal handler may interrupt any line, and push and pop for itself. So an
 * entry is counted before its function is stored, and cleared before it is
 * given back. An entry without a function belongs to nobody.
 */
#include "preload/ring/depth.h"

#include <stddef.h>

#include "preload/core/gate.h"
#include "preload/core/thread.h"
#include "preload/ring/put.h"
#include "shared/hash.h"

/* A bit of open_span.function: the begin was recorded after all. */
#define TOLD (1ULL << 63)
/* With so many spans in a row at one stack pointer, one of them is dead: the
 * rule of replay.c. */
#define SAME_MAX 64

/* By how much @sp is deeper than @above; like replay it looks at 16 bits. */
static int bytes_deeper(uintptr_t above, uintptr_t sp)
{
	return (int16_t)((above & RECORD_SP_MASK) - (sp & RECORD_SP_MASK));
}

static uint64_t function_at(const struct depth_stack *stack, uint64_t i)
{
	return stack->span[i].function & ~TOLD;
}

static bool is_left_out(const struct depth_stack *stack, uint64_t i)
{
	return i >= g_shim.depth && !(stack->span[i].function & TOLD);
}

/* Forget all entries but the outermost @count. */
static void keep_outermost(struct depth_stack *stack, uint64_t count)
{
	if (stack->count > count)
		stack->over = 0;
	while (stack->count > count) {
		uint64_t left = stack->count - 1;

		stack->span[left].function = 0;
		if (stack->least > left)
			stack->least = left;
		stack->count = left;
	}
}

/* Of the entries below @end: one more than the innermost of @function, or 0. */
static uint64_t find_function(const struct depth_stack *stack,
			      uint64_t function, uint64_t end)
{
	while (end && function_at(stack, end - 1) != function)
		end--;
	return end;
}

/* The same for an entry that has the stack pointer hint of @sp, too. */
static uint64_t find_exact(const struct depth_stack *stack, uint64_t function,
			   uintptr_t sp, uint64_t end)
{
	while (end && (function_at(stack, end - 1) != function ||
		       bytes_deeper(stack->span[end - 1].sp, sp)))
		end--;
	return end;
}

/* If there are too many entries at the stack pointer of the top to be
 * inlined into each other: one more than the first dead one of them. Else
 * 0. */
static uint64_t find_crowded(const struct depth_stack *stack, uint64_t function)
{
	uint64_t top = stack->count - 1, first = top, i;

	while (first &&
	       !bytes_deeper(stack->span[first - 1].sp, stack->span[top].sp))
		first--;
	if (top - first < SAME_MAX)
		return 0;
	for (i = first; i < top && function_at(stack, i) != function; i++)
		;
	return i + 1;
}

/* This begin may show that a jump, which was not seen, has left some
 * spans: forget them, as replay will. */
static void forget_dead(struct depth_stack *stack, uint64_t function,
			uintptr_t sp)
{
	uint64_t count = stack->count, dead = 0;
	int down;

	/* Only where it is known what lies next to @sp. */
	if (!count || stack->over)
		return;
	down = bytes_deeper(stack->span[count - 1].sp, sp);
	if (down < 0)
		dead = find_exact(stack, function, sp, count);
	else if (down == 0 && count > SAME_MAX &&
		 !bytes_deeper(stack->span[count - 1 - SAME_MAX].sp, sp))
		dead = find_crowded(stack, function);
	if (dead)
		keep_outermost(stack, dead - 1);
}

/* The stack is full: only replay knows this span. If it certainly lies too
 * deep, it is no loss where the ring is full as well. */
static bool begin_untracked(struct depth_stack *stack, uint64_t function,
			    uintptr_t sp)
{
	depth_tell();
	stack->over++;
	if (DEPTH_STACK_MAX < g_shim.depth)
		return true;
	put_begin_late(function, sp, (uintptr_t)__builtin_frame_address(0));
	return false;
}

static bool begin_span(struct depth_stack *stack, uint64_t function,
		       uintptr_t sp)
{
	uint64_t at;

	forget_dead(stack, function, sp);
	at = stack->count;
	if (at == DEPTH_STACK_MAX)
		return begin_untracked(stack, function, sp);
	stack->count = at + 1;
	stack->span[at].sp = sp;
	stack->span[at].function = function;
	return at < g_shim.depth;
}

static bool end_span(struct depth_stack *stack, uint64_t function, uintptr_t sp)
{
	uint64_t count = stack->count, at, exact;
	bool recorded;

	if (!count)
		return true;
	if (stack->over) {
		stack->over--;
		return true;
	}
	at = find_function(stack, function, count);
	if (!at) {
		/* The end of a span that was forgotten, or of none. If it was
		 * one, what was left out since then is over. */
		if (is_left_out(stack, count - 1)) {
			depth_tell();
			keep_outermost(stack, 0);
		}
		return true;
	}
	if (at < count) {
		exact = find_exact(stack, function, sp, at);
		at = exact ? exact : at;
	}
	recorded = !is_left_out(stack, at - 1);
	keep_outermost(stack, at - 1);
	return recorded;
}

bool depth_admits(uint64_t word, uintptr_t sp)
{
	struct depth_stack *stack = t_thread.depth;
	uint64_t function = record_payload(word);

	if (!stack)
		return true;
	/* The end of an annotation has the hint of its begin. */
	if (function < SITES_MAX)
		sp = (sp & ~RECORD_SP_MASK) | (word & RECORD_SP_MASK);
	return record_kind(word) == RECORD_BEGIN
		       ? begin_span(stack, function, sp)
		       : end_span(stack, function, sp);
}

void depth_tell(void)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	struct depth_stack *stack = t_thread.depth;
	uint64_t i, function;

	if (!stack)
		return;
	i = stack->count;
	while (i && is_left_out(stack, i - 1))
		i--;
	/* A handler may tell some meanwhile. */
	for (; i < stack->count; i++) {
		function = stack->span[i].function;
		if (!function || !is_left_out(stack, i))
			continue;
		stack->span[i].function = function | TOLD;
		if (!put_begin_late(function, stack->span[i].sp, sp))
			return;
	}
}

/* --- jumps ------------------------------------------------------------------
 */

/* How many of the outermost entries are sure to be open after control went to
 * where the stack pointer is @sp: those that lie there or above, on the same
 * stack. */
static uint64_t still_open(const struct depth_stack *stack, uintptr_t sp)
{
	uint64_t i, last = UINT64_MAX;

	for (i = 0; i < stack->count; i++) {
		uint64_t here = stack->span[i].sp;

		if (here < sp || here > last)
			break;
		last = here;
	}
	return i;
}

static volatile struct depth_point *point_of(struct depth_stack *stack,
					     uint64_t address)
{
	uint64_t hash = address * HASH_MULTIPLIER >> 32;

	return &stack->point[hash % DEPTH_POINTS];
}

/* Points no longer have entries that were forgotten since they were set. */
static void look_at_points(struct depth_stack *stack)
{
	uint64_t least = stack->least;

	for (int i = 0; i < DEPTH_POINTS; i++)
		if (stack->point[i].count > least)
			stack->point[i].count = least;
	stack->least = stack->count;
}

static void set_point(struct depth_stack *stack, uint64_t address)
{
	volatile struct depth_point *point = point_of(stack, address);

	/* A handler in between finds a point of nothing. */
	point->count = 0;
	point->address = address;
	point->count = stack->count;
}

/* What was open at the setjmp() is open again. Where that is not known any
 * more: what lies at the stack pointer may have been inlined there, and is
 * over. */
static void follow_jump(struct depth_stack *stack, uint64_t address,
			uintptr_t sp)
{
	const volatile struct depth_point *point = point_of(stack, address);

	if (point->address == address && point->count <= stack->count)
		keep_outermost(stack, point->count);
	else
		keep_outermost(stack, still_open(stack, sp + 1));
}

void depth_follow(enum record_flow flow, uint64_t address, uintptr_t sp)
{
	struct depth_stack *stack = t_thread.depth;

	if (!stack)
		return;
	look_at_points(stack);
	switch (flow) {
	case FLOW_SETJMP:
		set_point(stack, address);
		break;
	case FLOW_LONGJMP:
		follow_jump(stack, address, sp);
		break;
	case FLOW_CATCH:
		/* Like replay, keep what lies at @sp. */
		keep_outermost(stack, still_open(stack, sp));
		break;
	case FLOW_CONTEXT_SWITCH:
	case FLOW_CONTEXT_END:
	case FLOW_THREAD_LEFT:
		keep_outermost(stack, 0);
		break;
	default:
		break;
	}
}
