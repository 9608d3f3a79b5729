/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces made by hand show what recording added to each wait.
 * A call costs 2 us, half of it at its start and half at its end.
 */
#include "collector/read/own_waits.h"

#include "collector/read/lock_sums.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "tests/unit/wait_rig.h"

#define LOCK "mutex app+0x40"
#define MUTEX "[mutex app+0x40]"
#define CONDITION "[condition app+0x80]"
#define WOKEN(tid) "woken_by=x,woken_by_tid=" tid
#define CALL_US 2

static struct trace_waits *g_waits;

static void start(void)
{
	rig_start(4);
}

static void stop(void)
{
	trace_waits_free(&g_waits);
}

FIXTURE(start, stop);

static void estimate(uint64_t collector_us)
{
	const struct own_costs costs = { .call_ns = CALL_US * US,
					 .collector_ns = collector_us * US };
	char path[32];
	int fd = keep_trace(g_bytes, path);

	ck_assert_int_eq(trace_waits_read(path, NULL, NULL, &g_waits), 0);
	ck_assert_int_eq(own_waits_read(path, &costs, NULL, g_waits), 0);
	close(fd);
}

/* Returns wait @number of @thread. */
static const struct trace_wait *own_wait(int thread, size_t number)
{
	const struct trace_track *track = trace_reader_find_track(
		g_waits->reader, (uint64_t)RIG_THREAD(thread));
	const struct trace_wait *first;

	ck_assert_uint_gt(trace_waits_of(g_waits, track, &first), number);
	return &first[number];
}

/* A stretch of calls is cut where a wait begins, as if it were even. */
static void check_own(const struct trace_wait *wait, uint64_t us)
{
	ck_assert_uint_ge(wait->own_ns + 2 * CALL_US * US, us * US);
	ck_assert_uint_le(wait->own_ns, (us + 2 * CALL_US) * US);
	ck_assert_uint_le(wait->own_ns, wait->to_ns - wait->from_ns);
}

/* @count calls of @thread, one each 10 us, from @from us on. */
static void write_calls(int thread, uint64_t from, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		rig_call(thread, WORK, (from + 10 * i) * US,
			 (from + 10 * i + 5) * US);
}

TEST(own_waits_count_calls_of_the_waker_during_the_wait)
{
	/* 100 before, 50 during the wait, and 25 after the release. */
	write_calls(1, 0, 175);
	rig_wait(0, CONDITION, WOKEN("101"), 1000 * US, 1510 * US, 9);
	rig_signal(1, "signals", 1500 * US, 9);
	estimate(0);
	check_own(own_wait(0, 0), 50 * CALL_US);
}

TEST(own_waits_follow_the_waits_of_the_waker)
{
	/* t0 waits for t1, which waits for t2 at first. */
	write_calls(1, 0, 30);
	write_calls(1, 1200, 30);
	write_calls(2, 0, 100);
	rig_wait(1, CONDITION, WOKEN("102"), 300 * US, 1200 * US, 8);
	rig_signal(2, "signals", 1200 * US, 8);
	rig_wait(0, "[condition app+0xc0]", WOKEN("101"), 100 * US, 1510 * US,
		 9);
	rig_signal(1, "signals", 1500 * US, 9);
	estimate(0);
	check_own(own_wait(1, 0), 70 * CALL_US);
	check_own(own_wait(0, 0), (20 + 70 + 30) * CALL_US);
}

TEST(own_waits_begin_within_a_wait_of_the_waker)
{
	write_calls(2, 0, 100);
	rig_wait(1, CONDITION, WOKEN("102"), 0, 1000 * US, 8);
	rig_signal(2, "signals", 1000 * US, 8);
	rig_wait(0, "[condition app+0xc0]", WOKEN("101"), 600 * US, 1100 * US,
		 9);
	rig_signal(1, "signals", 1100 * US, 9);
	estimate(0);
	check_own(own_wait(1, 0), 100 * CALL_US);
	check_own(own_wait(0, 0), 40 * CALL_US);
}

TEST(own_waits_for_a_lock_begin_with_the_hold)
{
	/* t1 has the lock from 500 on; who had it before is unknown. */
	write_calls(1, 0, 100);
	rig_wait(0, MUTEX, "lock=" LOCK "," WOKEN("101"), 100 * US, 1000 * US,
		 9);
	rig_hold(1, 0, LOCK, "put", 500 * US, 1000 * US, 9);
	estimate(0);
	check_own(own_wait(0, 0), 50 * CALL_US);
}

TEST(own_waits_for_a_lock_go_on_in_its_queue)
{
	/* t2 had the lock until 500, and t1 waited for it as well. */
	write_calls(2, 0, 100);
	write_calls(1, 500, 50);
	rig_wait(0, MUTEX, "lock=" LOCK "," WOKEN("101"), 100 * US, 1000 * US,
		 9);
	rig_wait(1, MUTEX, "lock=" LOCK "," WOKEN("102"), 50 * US, 500 * US, 8);
	rig_hold(2, 0, LOCK, "put", 20 * US, 500 * US, 8);
	rig_hold(1, 0, LOCK, "put", 500 * US, 1000 * US, 9);
	estimate(0);
	check_own(own_wait(1, 0), 45 * CALL_US);
	check_own(own_wait(0, 0), (40 + 50) * CALL_US);
}

TEST(own_waits_count_each_hold_of_one_thread)
{
	/* The thread that t1 woke at 400 ran too late. */
	write_calls(1, 0, 100);
	rig_wait(0, MUTEX, "lock=" LOCK "," WOKEN("101"), 100 * US, 1000 * US,
		 9);
	rig_hold(1, 0, LOCK, "put", 50 * US, 400 * US, 0);
	rig_hold(1, 1, LOCK, "put", 420 * US, 1000 * US, 9);
	estimate(0);
	check_own(own_wait(0, 0), 90 * CALL_US);
}

TEST(own_waits_count_a_full_ring_once)
{
	rig_begin(1, MAIN, 0);
	rig_call(1, STALL, 300 * US, 800 * US);
	rig_end(1, 900 * US);
	rig_wait(1, "[perfrec]", "", 310 * US, 795 * US, 0);
	rig_wait(0, CONDITION, WOKEN("101"), 100 * US, 860 * US, 9);
	rig_signal(1, "signals", 850 * US, 9);
	estimate(0);
	check_own(own_wait(0, 0), 500);
	/* The thread itself waited for nothing else. */
	ck_assert_uint_eq(own_wait(1, 0)->own_ns, 485 * US);
}

TEST(own_waits_do_not_guess)
{
	write_calls(1, 0, 100);
	rig_wait(0, CONDITION, "", 100 * US, 300 * US, 0);
	rig_wait(0, "[sleep]", "", 400 * US, 500 * US, 0);
	rig_wait(0, CONDITION, "result=timed out", 600 * US, 700 * US, 0);
	estimate(0);
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(own_wait(0, i)->own_ns, 0);
}

TEST(own_waits_share_busy_cpus)
{
	/* t1 is ready from 100 on. t2 and t3 have both CPUs: t2 is in hooks for
	 * a fifth of the time, t3 never. */
	rig_begin(1, MAIN, 0);
	rig_end(1, 1300 * US);
	write_calls(2, 0, 200);
	rig_begin(3, MAIN, 0);
	rig_end(3, 2000 * US);
	rig_wait(0, CONDITION, WOKEN("101"), 100 * US, 1200 * US, 9);
	rig_signal(1, "signals", 1200 * US, 9);
	RAN({ 1, 0, 0, 100, STAYS }, { 2, 0, 100, 1100, STAYS },
	    { 3, 1, 0, 2000, WAITS }, { 1, 0, 1100, 1300, WAITS });
	estimate(0);
	check_own(own_wait(0, 0), 1000 / 5 / 2);
}

TEST(own_waits_share_cpus_with_the_collector)
{
	/* No thread of the trace runs from 100 to 1100; the collector has taken
	 * half of the idle time. */
	rig_begin(1, MAIN, 0);
	rig_end(1, 1300 * US);
	rig_wait(0, CONDITION, WOKEN("101"), 100 * US, 1200 * US, 9);
	rig_signal(1, "signals", 1200 * US, 9);
	RAN({ 1, 0, 0, 100, STAYS }, { 1, 0, 1100, 1300, WAITS });
	estimate(500);
	check_own(own_wait(0, 0), 500);
}

TEST(own_waits_are_no_longer_than_the_waits)
{
	/* 1,000 calls in 100 us cannot have taken 2 us each. */
	for (uint64_t i = 0; i < 1000; i++)
		rig_call(1, WORK, 100 * US + 100 * i, 100 * US + 100 * i + 50);
	rig_wait(0, CONDITION, WOKEN("101"), 100 * US, 200 * US, 9);
	rig_signal(1, "signals", 200 * US, 9);
	estimate(0);
	ck_assert_uint_le(own_wait(0, 0)->own_ns, 100 * US);
	ck_assert_uint_ge(own_wait(0, 0)->own_ns, 98 * US);
}

TEST(own_waits_of_a_range_are_a_part)
{
	const struct time_range range = { START_NS, START_NS + 1250 * US };
	const struct lock_row *row;
	struct lock_sums sums;
	bool met;

	write_calls(1, 1000, 50);
	rig_wait(0, MUTEX, "lock=" LOCK "," WOKEN("101"), 1000 * US, 1500 * US,
		 9);
	rig_hold(1, 0, LOCK, "put", 900 * US, 1500 * US, 9);
	estimate(0);
	ck_assert_int_eq(lock_sums_make(g_waits, &range, NULL,
					LOCK_SUMS_BY_LOCK, &met, &sums),
			 0);
	row = sums.rows.items;
	ck_assert_uint_eq(row->blocked_ns, 250 * US);
	ck_assert_uint_eq(row->own_ns, own_wait(0, 0)->own_ns / 2);
	lock_sums_release(&sums);
}

/* Waits that overlap, nest, go in circles or end before they were released. */
TEST(own_waits_of_any_trace_are_within_bounds)
{
	uint64_t random = 7;

	for (int round = 0; round < 50; round++) {
		stop();
		start();
		for (int thread = 0; thread < 4; thread++)
			write_calls(thread, (next_random(&random) % 500),
				    (next_random(&random) % 100));
		for (uint64_t i = 1; i < 60; i++) {
			const int by = (int)(next_random(&random) % 4);
			const uint64_t from =
				(next_random(&random) % 1000) * US;
			const uint64_t to =
				from + (next_random(&random) % 300) * US;
			char text[64];

			snprintf(text, sizeof(text),
				 "lock=" LOCK ",woken_by=x,woken_by_tid=%d",
				 100 + by);
			rig_wait((int)(next_random(&random) % 4), MUTEX, text,
				 from, to + 1, i);
			rig_hold(by, (int)i, LOCK, "put",
				 (next_random(&random) % 1000) * US,
				 1300 * US - (next_random(&random) % 200) * US,
				 i);
		}
		estimate((next_random(&random) % 2000));
		for (size_t i = 0; i < g_waits->wait_count; i++) {
			const struct trace_wait *wait = &g_waits->waits[i];
			const uint64_t took = wait->to_ns - wait->from_ns;

			ck_assert_uint_le(wait->own_ns, took);
		}
	}
}
