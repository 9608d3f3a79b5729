/* SPDX-License-Identifier: Apache-2.0
 *
 * depth - leaves out the spans that --depth would cut anyway.
 *
 * Only replay decides the depth of a span, as it has the rules for jumps,
 * exceptions and contexts. The shim must never contradict it, so it leaves out
 * only certain cases. Its stack of open spans has two properties:
 *
 *   - It holds only spans that are open for replay, in the same order. So a
 *     span with N others below it on this stack is at least N deep. Where the
 *     shim is not sure, it removes entries, and records more spans than
 *     necessary.
 *   - Every open span that was skipped is on it, above all others. So the shim
 *     recognizes the end of such a span by its function, as replay would. It
 *     does not use the stack pointer: functions that are inlined into each
 *     other share it, and an exit hook that is tail-called has the one of its
 *     caller.
 *
 * Where control moves without call or return, there is a FLOW record (also for
 * setjmp(), the target of a jump). Just before it, the shim records the
 * left-out BEGINs late. Replay then has the whole stack, applies its rules, and
 * cuts those spans itself. The shim removes spans that the jump may have ended.
 * The same happens when the stack is full.
 *
 * A signal handler may interrupt any line, and push and pop itself. So the shim
 * counts an entry before it stores its function, and clears an entry before it
 * decrements the count. An entry without a function is unused.
 */
#include "preload/ring/depth.h"

#include <stddef.h>

#include "preload/core/gate.h"
#include "preload/core/thread.h"
#include "preload/ring/put.h"
#include "shared/hash.h"

/* A bit of open_span.function: the BEGIN was recorded late. */
#define TOLD (1ULL << 63)
/* If more spans in a row have one stack pointer, one of them has ended: the
 * rule of replay.c. */
#define SAME_MAX 64

/* Returns how many bytes @sp is deeper than @above, modulo 16 bits as in
 * replay. */
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

/* Removes all entries except the outermost @count. */
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

/* Returns one more than the index of the innermost entry of @function below
 * @end, or 0. */
static uint64_t find_function(const struct depth_stack *stack,
			      uint64_t function, uint64_t end)
{
	while (end && function_at(stack, end - 1) != function)
		end--;
	return end;
}

/* find_function() for an entry that also has the stack pointer hint of @sp. */
static uint64_t find_exact(const struct depth_stack *stack, uint64_t function,
			   uintptr_t sp, uint64_t end)
{
	while (end && (function_at(stack, end - 1) != function ||
		       bytes_deeper(stack->span[end - 1].sp, sp)))
		end--;
	return end;
}

/* Inlined functions share a stack pointer. If more entries have that of the top
 * than can be inlined, returns 1 + the index of the first ended entry, else 0.
 */
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

/* Removes spans that an unseen jump has left, if this BEGIN shows that, as
 * replay does. */
static void forget_dead(struct depth_stack *stack, uint64_t function,
			uintptr_t sp)
{
	uint64_t count = stack->count, dead = 0;
	int down;

	/* Only if the neighbour of @sp is known. */
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

/* For a full stack: only replay keeps this span. If it is certainly too deep,
 * and the ring is full as well, it is no loss. */
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
		/* This END belongs to a removed span, or to no span. A removed
		 * span shows that the spans left out after it have ended. */
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
	/* The END of an annotation has the hint of its BEGIN. */
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
	/* A signal handler may record some meanwhile. */
	for (; i < stack->count; i++) {
		function = stack->span[i].function;
		if (!function || !is_left_out(stack, i))
			continue;
		stack->span[i].function = function | TOLD;
		if (!put_begin_late(function, stack->span[i].sp, sp))
			return;
	}
}

/* --- jumps --------------------------------------------------------------- */

/* Returns the number of outermost entries that are certainly open after a jump
 * to stack pointer @sp: the entries at @sp or above on the same stack. */
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

/* Removes entries from the points that were removed from the stack since. */
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

	/* A signal handler in between finds an empty point. */
	point->count = 0;
	point->address = address;
	point->count = stack->count;
}

/* Restores the spans that were open at the setjmp(). If they are no longer
 * known, also removes the spans at the stack pointer itself, which may have
 * been inlined there and have ended. */
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
		/* Like replay, keep spans at @sp. */
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
