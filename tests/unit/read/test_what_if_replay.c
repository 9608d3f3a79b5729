/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs by hand, whose lengths are known.
 */
#include "collector/read/what_if_replay.h"

#include <errno.h>

#include "shared/compiler.h"
#include "tests/suite.h"

#define MS 1e6
#define RUNS(recorded, changed)                            \
	{                                                  \
		.waker = REPLAY_NO_STEP,                   \
		.cpu_ns = { (recorded)*MS, (changed)*MS }, \
	}
#define WAITS_FOR(step, ms)                                         \
	{                                                           \
		.waits = true, .waker = (step), .fixed_ns = (ms)*MS \
	}

static double replayed_ms(const struct replay_step *steps, uint32_t count,
			  const struct replay_thread *threads,
			  uint32_t thread_count, uint32_t cpus,
			  struct replay_mode mode)
{
	const struct replay_graph graph = { .steps = steps,
					    .step_count = count,
					    .threads = threads,
					    .thread_count = thread_count,
					    .cpus = cpus,
					    .last = count - 1 };
	double ns;

	ck_assert_int_eq(what_if_replay(&graph, mode, &ns), 0);
	return ns / MS;
}

#define REPLAYED(steps, threads, cpus, ...)                                 \
	replayed_ms(steps, ARRAY_SIZE(steps), threads, ARRAY_SIZE(threads), \
		    cpus, (struct replay_mode){ __VA_ARGS__ })

TEST(a_thread_needs_its_cpu_time)
{
	const struct replay_step steps[] = { RUNS(100, 50), RUNS(10, 10) };
	const struct replay_thread threads[] = { { 0, 2 } };

	ck_assert_double_eq(REPLAYED(steps, threads, 1, .run = REPLAY_RECORDED),
			    110);
	ck_assert_double_eq(REPLAYED(steps, threads, 1, .run = REPLAY_CHANGED),
			    60);
}

/* The second thread waits for the first one's first step, which goes on. */
TEST(a_wait_ends_when_its_waker_gets_there)
{
	const struct replay_step steps[] = { RUNS(100, 40), RUNS(500, 500),
					     RUNS(10, 10), WAITS_FOR(0, 5),
					     RUNS(30, 30) };
	const struct replay_thread threads[] = { { 0, 2 }, { 2, 5 } };

	ck_assert_double_eq(REPLAYED(steps, threads, 2, .run = REPLAY_RECORDED),
			    135);
	ck_assert_double_eq(REPLAYED(steps, threads, 2, .run = REPLAY_CHANGED),
			    75);
}

TEST(a_late_thread_does_not_wait)
{
	const struct replay_step steps[] = { RUNS(100, 10), RUNS(50, 50),
					     WAITS_FOR(0, 5), RUNS(30, 30) };
	const struct replay_thread threads[] = { { 0, 1 }, { 1, 4 } };

	ck_assert_double_eq(REPLAYED(steps, threads, 2, .run = REPLAY_RECORDED),
			    135);
	ck_assert_double_eq(REPLAYED(steps, threads, 2, .run = REPLAY_CHANGED),
			    80);
}

TEST(several_threads_wait_for_one_end)
{
	const struct replay_step steps[] = { RUNS(100, 50),   WAITS_FOR(0, 1),
					     WAITS_FOR(0, 2), WAITS_FOR(1, 0),
					     WAITS_FOR(2, 0), RUNS(1, 1) };
	const struct replay_thread threads[] = {
		{ 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 6 }
	};

	ck_assert_double_eq(REPLAYED(steps, threads, 4, .run = REPLAY_RECORDED),
			    103);
	ck_assert_double_eq(REPLAYED(steps, threads, 4, .run = REPLAY_CHANGED),
			    53);
}

TEST(threads_share_cpus)
{
	const struct replay_step steps[] = { RUNS(6, 3), RUNS(6, 3),
					     RUNS(6, 3) };
	const struct replay_thread threads[] = { { 0, 1 }, { 1, 2 }, { 2, 3 } };

	ck_assert_double_eq(REPLAYED(steps, threads, 3, .run = REPLAY_RECORDED),
			    6);
	ck_assert_double_eq(REPLAYED(steps, threads, 2, .run = REPLAY_RECORDED),
			    9);
	ck_assert_double_eq(REPLAYED(steps, threads, 1, .run = REPLAY_RECORDED),
			    18);
	ck_assert_double_eq(REPLAYED(steps, threads, 1, .run = REPLAY_CHANGED),
			    9);
}

TEST(stolen_time_may_stay)
{
	const struct replay_step steps[] = { { .waker = REPLAY_NO_STEP,
					       .cpu_ns = { 8 * MS, 4 * MS },
					       .stolen_ns = { 6 * MS, 3 * MS },
					       .fixed_ns = 1 * MS } };
	const struct replay_thread threads[] = { { 0, 1 } };

	ck_assert_double_eq(REPLAYED(steps, threads, 1, .run = REPLAY_RECORDED),
			    15);
	ck_assert_double_eq(REPLAYED(steps, threads, 1, .run = REPLAY_CHANGED),
			    8);
	ck_assert_double_eq(REPLAYED(steps, threads, 1, .run = REPLAY_CHANGED,
				     .keep_stolen = true),
			    11);
}

/* The wait began at 10, and may end at 25 at the earliest. */
TEST(an_unknown_wait_may_end_early)
{
	const struct replay_step steps[] = { RUNS(10, 10),
					     { .waits = true,
					       .unknown = true,
					       .waker = REPLAY_NO_STEP,
					       .fixed_ns = 40 * MS,
					       .earliest_ns = 25 * MS },
					     RUNS(5, 5) };
	const struct replay_thread threads[] = { { 0, 3 } };

	ck_assert_double_eq(REPLAYED(steps, threads, 1, .run = REPLAY_CHANGED),
			    55);
	ck_assert_double_eq(
		REPLAYED(steps, threads, 1, REPLAY_CHANGED, .end_early = true),
		30);
}

TEST(threads_that_wait_for_each_other_have_no_end)
{
	const struct replay_step steps[] = { WAITS_FOR(1, 0), WAITS_FOR(0, 0) };
	const struct replay_thread threads[] = { { 0, 1 }, { 1, 2 } };
	const struct replay_graph graph = { steps, 2, threads, 2, 1, 1 };
	double ns;

	ck_assert_int_eq(
		what_if_replay(&graph,
			       (struct replay_mode){ .run = REPLAY_RECORDED },
			       &ns),
		-EDEADLK);
}
