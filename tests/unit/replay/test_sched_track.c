/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/sched_track.h"

#include "collector/replay/kernel_event.h"
#include "tests/suite.h"

static struct sched_track g_track;

static void setup(void)
{
	g_track = (struct sched_track){ 0 };
}

static struct sched_step apply(enum kernel_event_kind kind, uint64_t ns,
			       uint16_t cpu)
{
	const struct kernel_event event = { .ns = ns,
					    .kind = (uint8_t)kind,
					    .cpu = cpu };

	return sched_track_apply(&g_track, &event);
}

FIXTURE(setup, NULL);

TEST(new_thread_is_runnable_until_it_runs)
{
	struct sched_step step;

	apply(KERNEL_START, 100, 0);
	step = apply(KERNEL_IN, 130, 0);
	ck_assert_int_eq(step.state, SCHED_PREEMPTED);
	ck_assert_uint_eq(step.ns, 30);
	/* The thread has not lost a CPU. */
	ck_assert(!step.whole);
	ck_assert_uint_eq(g_track.sums.preemptions, 0);
	ck_assert_uint_eq(g_track.sums.preempted_ns, 30);
}

TEST(stretches_are_added_up_by_state)
{
	apply(KERNEL_START, 0, 0);
	apply(KERNEL_IN, 10, 0);
	apply(KERNEL_PREEMPTED, 30, 0);
	apply(KERNEL_IN, 60, 1);
	apply(KERNEL_BLOCKED, 100, 1);
	apply(KERNEL_IN, 150, 1);
	ck_assert_uint_eq(g_track.sums.on_ns, 60);
	ck_assert_uint_eq(g_track.sums.preempted_ns, 40);
	ck_assert_uint_eq(g_track.sums.blocked_ns, 50);
	ck_assert_uint_eq(g_track.sums.waits, 1);
	ck_assert_uint_eq(g_track.sums.preemptions, 1);
	ck_assert_uint_eq(g_track.sums.migrations, 1);
	ck_assert_uint_eq(g_track.sums.unknown_ns, 0);
}

TEST(events_that_cannot_follow_each_other_leave_an_unknown_time)
{
	apply(KERNEL_IN, 10, 0);
	ck_assert_int_eq(apply(KERNEL_IN, 30, 0).state, SCHED_UNKNOWN);
	apply(KERNEL_BLOCKED, 40, 0);
	ck_assert_int_eq(apply(KERNEL_BLOCKED, 70, 0).state, SCHED_UNKNOWN);
	ck_assert_uint_eq(g_track.sums.unknown_ns, 50);
	ck_assert_uint_eq(g_track.sums.on_ns, 10);
	ck_assert_uint_eq(g_track.sums.waits, 0);
}

TEST(lost_records_are_unknown_until_the_next)
{
	apply(KERNEL_IN, 10, 0);
	apply(KERNEL_UNKNOWN, 30, 0);
	ck_assert_int_eq(apply(KERNEL_BLOCKED, 100, 0).state, SCHED_UNKNOWN);
	ck_assert_uint_eq(g_track.sums.on_ns, 20);
	ck_assert_uint_eq(g_track.sums.unknown_ns, 70);
	apply(KERNEL_IN, 140, 0);
	ck_assert_uint_eq(g_track.sums.blocked_ns, 40);
}

TEST(look_divides_a_stretch)
{
	struct sched_step step;

	apply(KERNEL_BLOCKED, 10, 0);
	step = sched_track_look(&g_track, 40);
	ck_assert_int_eq(step.state, SCHED_BLOCKED);
	ck_assert_uint_eq(step.ns, 30);
	ck_assert(!step.whole);
	step = apply(KERNEL_IN, 60, 0);
	ck_assert_uint_eq(step.ns, 20);
	ck_assert(step.whole);
	ck_assert_uint_eq(g_track.sums.waits, 1);
}

TEST(time_that_goes_back_counts_as_none)
{
	apply(KERNEL_IN, 100, 0);
	apply(KERNEL_BLOCKED, 50, 0);
	ck_assert_uint_eq(g_track.sums.on_ns, 0);
	apply(KERNEL_IN, 120, 0);
	ck_assert_uint_eq(g_track.sums.blocked_ns, 20);
}

TEST(thread_that_has_ended_has_no_more_time)
{
	apply(KERNEL_IN, 10, 0);
	apply(KERNEL_EXIT, 30, 0);
	ck_assert_uint_eq(g_track.sums.on_ns, 20);
	ck_assert_uint_eq(sched_track_look(&g_track, 90).ns, 0);
	ck_assert_uint_eq(g_track.sums.on_ns, 20);
}

/* Such as a loss of records of other threads, or its end once more. */
TEST(events_after_the_end_change_nothing)
{
	const enum kernel_event_kind kind[] = { KERNEL_UNKNOWN, KERNEL_IN,
						KERNEL_BLOCKED, KERNEL_EXIT };

	apply(KERNEL_IN, 10, 0);
	apply(KERNEL_EXIT, 30, 0);
	for (size_t i = 0; i < ARRAY_SIZE(kind); i++) {
		ck_assert_int_eq(apply(kind[i], 50 + i, 0).state, SCHED_NONE);
		ck_assert_int_eq(g_track.state, SCHED_ENDED);
		ck_assert_uint_eq(g_track.since_ns, 30);
	}
	ck_assert_uint_eq(sched_track_look(&g_track, 90).ns, 0);
	ck_assert_uint_eq(g_track.sums.on_ns, 20);
}
