/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/kernel_events.h"

#include "collector/base/budget.h"
#include "tests/suite.h"

static struct budget g_budget;
static struct kernel_events g_events;
static struct kernel_event g_out[KERNEL_EVENTS_MAX + 1024];
static struct sched_track g_before;

static void setup(void)
{
	g_budget.left = 64 << 20;
	g_before = (struct sched_track){ 0 };
	kernel_events_init(&g_events, &g_budget);
}

static void teardown(void)
{
	kernel_events_release(&g_events);
	ck_assert_int_eq(g_budget.left, 64 << 20);
}

static void push(enum kernel_event_kind kind, uint64_t ns)
{
	const struct kernel_event event = { .ns = ns, .kind = (uint8_t)kind };

	kernel_events_push(&g_events, &event);
}

static size_t take(size_t room)
{
	return kernel_events_take(&g_events, g_out, room, &g_before);
}

FIXTURE(setup, teardown);

TEST(events_come_in_the_order_in_which_they_were_told)
{
	uint64_t next = 0;

	for (uint64_t ns = 0; ns < 300; ns++)
		push(KERNEL_TICK, ns);
	for (size_t count; (count = take(7)); next += count)
		for (size_t i = 0; i < count; i++)
			ck_assert_uint_eq(g_out[i].ns, next + i);
	ck_assert_uint_eq(next, 300);
	push(KERNEL_TICK, 300);
	ck_assert_uint_eq(take(7), 1);
	ck_assert_uint_eq(g_out[0].ns, 300);
}

TEST(time_never_goes_back)
{
	push(KERNEL_IN, 50);
	push(KERNEL_BLOCKED, 40);
	ck_assert_uint_eq(take(8), 2);
	ck_assert_uint_eq(g_out[1].ns, 50);
}

/* Alternates 10 units on a CPU and 30 units blocked. */
static void push_waits_of(uint64_t waits, uint64_t unit_ns)
{
	for (uint64_t i = 0; i < waits; i++) {
		push(KERNEL_IN, 40 * unit_ns * i);
		push(KERNEL_BLOCKED, 40 * unit_ns * i + 10 * unit_ns);
	}
}

static void push_waits(uint64_t waits)
{
	push_waits_of(waits, 1);
}

static void expect_waits(uint64_t waits, uint64_t unit_ns)
{
	size_t count = take(ARRAY_SIZE(g_out));
	struct sched_track track = g_before;

	for (size_t i = 0; i < count; i++)
		sched_track_apply(&track, &g_out[i]);
	ck_assert_uint_eq(track.sums.waits, waits - 1);
	ck_assert_uint_eq(track.sums.on_ns, 10 * unit_ns * waits);
	ck_assert_uint_eq(track.sums.blocked_ns, 30 * unit_ns * (waits - 1));
}

TEST(what_nobody_asked_for_is_added_up_when_it_is_old)
{
	push_waits_of(30000, 100000);
	ck_assert_uint_lt(g_events.count, 2000);
	expect_waits(30000, 100000);
	ck_assert_uint_gt(g_before.sums.waits, 28000);
	/* after the first request, nothing is added up */
	push_waits_of(10000, 100000);
	ck_assert_uint_eq(g_events.count, 20000);
}

/* A thread may record for a while before the collector finds its ring. */
TEST(what_nobody_has_asked_for_yet_is_kept)
{
	push_waits(10000);
	ck_assert_uint_eq(g_events.count, 20000);
	expect_waits(10000, 1);
	ck_assert_uint_eq(g_before.sums.waits, 0);
}

/* The thread may have recorded all the time: no span may get its waits. */
TEST(without_room_the_state_is_unknown_before_anybody_asks)
{
	size_t count;

	push_waits(KERNEL_EVENTS_MAX);
	count = take(ARRAY_SIZE(g_out));
	ck_assert_uint_lt(count, KERNEL_EVENTS_MAX + 1000);
	ck_assert_uint_eq(g_out[count - 1].kind, KERNEL_UNKNOWN);
	ck_assert_uint_eq(g_before.sums.waits, 0);
}

TEST(without_memory_it_is_added_up_before_anybody_asks)
{
	g_budget.left = 32 << 10;
	push_waits(10000);
	ck_assert_uint_lt(g_events.count, 2000);
	expect_waits(10000, 1);
	g_budget.left += (64 << 20) - (32 << 10);
}

TEST(beyond_the_limit_the_state_is_unknown)
{
	size_t count, more;

	(void)take(1);
	push_waits(KERNEL_EVENTS_MAX);
	count = take(ARRAY_SIZE(g_out));
	ck_assert_uint_ge(count, KERNEL_EVENTS_MAX);
	ck_assert_uint_lt(count, KERNEL_EVENTS_MAX + 1000);
	ck_assert_uint_eq(g_out[count - 1].kind, KERNEL_UNKNOWN);
	ck_assert_uint_eq(g_out[count - 1].ns, g_out[count - 2].ns + 30);
	push(KERNEL_IN, 1ull << 40);
	more = take(8);
	ck_assert_uint_eq(more, 1);
	ck_assert_uint_eq(g_out[0].kind, KERNEL_IN);
}

TEST(without_memory_the_state_is_unknown)
{
	g_budget.left = 0;
	push(KERNEL_IN, 10);
	push(KERNEL_BLOCKED, 20);
	g_budget.left = 64 << 20;
	push(KERNEL_IN, 30);
	ck_assert_uint_eq(take(8), 2);
	ck_assert_uint_eq(g_out[0].kind, KERNEL_UNKNOWN);
	ck_assert_uint_eq(g_out[0].ns, 10);
	ck_assert_uint_eq(g_out[1].ns, 30);
}

TEST(loss_is_told_although_nothing_follows)
{
	(void)take(1);
	push(KERNEL_IN, 10);
	ck_assert_uint_eq(take(8), 1);
	kernel_events_release(&g_events);
	g_budget.left = 0;
	push(KERNEL_BLOCKED, 20);
	ck_assert_uint_eq(take(8), 1);
	ck_assert_uint_eq(g_out[0].kind, KERNEL_UNKNOWN);
	ck_assert_uint_eq(g_out[0].ns, 20);
	ck_assert_uint_eq(take(8), 0);
	g_budget.left = 64 << 20;
	push(KERNEL_IN, 30);
	ck_assert_uint_eq(take(8), 1);
	ck_assert_uint_eq(g_out[0].kind, KERNEL_IN);
}

TEST(events_that_nobody_wants_are_not_kept)
{
	push_waits(100);
	kernel_events_unwant(&g_events);
	ck_assert_int_eq(g_budget.left, 64 << 20);
	push_waits(100);
	ck_assert_uint_eq(take(8), 0);
}
