/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers about traces whose threads are known by construction.
 */
#include "collector/read/what_if.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "tests/unit/wait_rig.h"

#define LOCK "mutex app+0x40"
#define MUTEX "[mutex app+0x40]"
#define WOKEN(tid) "lock=" LOCK ",woken_by=x,woken_by_tid=" tid

static struct what_if g_answer;

static void start(void)
{
	rig_start(4);
}

FIXTURE(start, NULL);

static void ask(struct what_if_change *changes, uint32_t count)
{
	char path[32];
	int fd = keep_trace(g_bytes, path);

	ck_assert_int_eq(what_if_read(path, changes, count, NULL, &g_answer),
			 0);
	close(fd);
}

static void ask_half(const char *function)
{
	struct what_if_change change = { .pattern = function, .factor = .5 };

	ask(&change, 1);
}

/* Doubles are rounded down to whole ns. */
static void check_estimate(uint64_t us)
{
	ck_assert_int_eq(g_answer.result, WHAT_IF_ESTIMATE);
	ck_assert_uint_le(g_answer.estimate_ns, us * US + 1);
	ck_assert_uint_ge(g_answer.estimate_ns + 1, us * US);
	ck_assert_uint_le(g_answer.low_ns, g_answer.estimate_ns);
	ck_assert_uint_ge(g_answer.high_ns, g_answer.estimate_ns);
}

/* t0 waits from 100 on for t1, which releases the lock at 300 in put() and goes
 * on. */
static void write_two_threads(void)
{
	rig_begin(0, MAIN, 0);
	rig_call(0, TAKE, 90 * US, 350 * US);
	rig_call(0, WORK, 400 * US, 900 * US);
	rig_end(0, 900 * US);
	rig_begin(1, MAIN, 0);
	rig_call(1, PUT, 50 * US, 310 * US);
	rig_end(1, 500 * US);
	rig_wait(0, MUTEX, WOKEN("101"), 100 * US, 320 * US, 9);
	rig_hold(1, 0, LOCK, "put", 60 * US, 300 * US, 9);
	RAN({ 0, 0, 0, 100, WAITS }, { 0, 0, 320, 900, WAITS },
	    { 1, 1, 0, 500, WAITS });
}

TEST(what_if_the_holder_of_a_lock_is_faster)
{
	write_two_threads();
	ask_half("put");
	ck_assert_uint_eq(g_answer.length_ns, 900 * US);
	ck_assert_uint_eq(g_answer.cpus, 2);
	/* 125 less until the release, and 20 until t0 goes on. */
	check_estimate(775);
}

TEST(what_if_the_waiter_is_faster)
{
	write_two_threads();
	ask_half("work");
	check_estimate(650);
	/* It comes to the lock earlier. */
	ask_half("take");
	check_estimate(885);
}

TEST(what_if_a_call_makes_others)
{
	struct what_if_change changes[] = {
		{ .pattern = "ma*", .factor = .5 },
		{ .pattern = "work", .factor = .5 },
	};

	write_two_threads();
	ask(changes, 2);
	/* 150 until the release, 20, 15 and 25 behind take(), 125. */
	check_estimate(150 + 20 + 15 + 25 + 125);
	ck_assert_uint_eq(changes[0].calls, 2);
	ck_assert_uint_eq(changes[0].on_cpu_ns, (680 + 500) * US);
	ck_assert_uint_eq(changes[1].on_cpu_ns, 500 * US);
}

TEST(what_if_nothing_changes)
{
	struct what_if_change change = { .pattern = "put", .factor = 1 };

	write_two_threads();
	ask(&change, 1);
	check_estimate(900);
	ck_assert_uint_eq(change.calls, 1);
	ask(&(struct what_if_change){ .pattern = "nosuch", .factor = .5 }, 1);
	check_estimate(900);
}

/* t0 waits for t1 until 400; who woke it is not known. It could be 200 earlier. */
TEST(what_if_gives_no_estimate_with_unknown_waits)
{
	rig_call(0, MAIN, 0, 900 * US);
	rig_call(1, WORK, 0, 400 * US);
	rig_wait(0, "[pipe 5]", "", 100 * US, 400 * US, 0);
	RAN({ 0, 0, 0, 100, WAITS }, { 0, 0, 400, 900, WAITS },
	    { 1, 1, 0, 400, WAITS });
	ask_half("work");
	ck_assert_int_eq(g_answer.result, WHAT_IF_UNKNOWN_WAITS);
	ck_assert_uint_eq(g_answer.unknown_ns, 300 * US);
	ck_assert_uint_eq(g_answer.low_ns, 700 * US);
	ck_assert_uint_eq(g_answer.high_ns, 900 * US);
	/* A sleep is no such wait. */
	rig_start(4);
	rig_call(0, MAIN, 0, 900 * US);
	rig_call(1, WORK, 0, 400 * US);
	rig_wait(0, "[sleep]", "", 100 * US, 400 * US, 0);
	RAN({ 0, 0, 0, 100, WAITS }, { 0, 0, 400, 900, WAITS },
	    { 1, 1, 0, 400, WAITS });
	ask_half("work");
	check_estimate(900);
	ask_half("main");
	check_estimate(600);
}

/* Another program had the CPU for 400 of 1000: with half of the work, for 200 or
 * for 400. */
TEST(what_if_gives_no_estimate_beside_other_programs)
{
	rig_call(0, MAIN, 0, 1000 * US);
	RAN({ 0, 0, 0, 300, STAYS }, { 0, 0, 700, 1000, WAITS });
	ask_half("main");
	ck_assert_int_eq(g_answer.result, WHAT_IF_OTHER_PROGRAMS);
	ck_assert_uint_eq(g_answer.stolen_ns, 400 * US);
	ck_assert_uint_eq(g_answer.low_ns, 500 * US);
	ck_assert_uint_eq(g_answer.high_ns, 700 * US);
}

/* t1 works until 800, and t0 until 900. Perhaps t0 waits for its end. */
TEST(what_if_other_threads_go_on)
{
	rig_call(0, MAIN, 0, 900 * US);
	rig_call(1, WORK, 0, 800 * US);
	RAN({ 0, 0, 0, 900, WAITS }, { 1, 1, 0, 800, WAITS });
	ask_half("main");
	ck_assert_int_eq(g_answer.result, WHAT_IF_OTHER_THREADS);
	ck_assert_uint_eq(g_answer.low_ns, 450 * US);
	ck_assert_uint_eq(g_answer.high_ns, 800 * US);
	ask_half("work");
	check_estimate(900);
}

/* t0 starts t1 at 200 and joins it. */
TEST(what_if_a_thread_starts_earlier)
{
	rig_begin(0, MAIN, 0);
	rig_call(0, TAKE, 0, 190 * US);
	rig_end(0, 700 * US);
	rig_call(1, WORK, 220 * US, 600 * US);
	rig_started(1, 0, 200 * US);
	rig_wait(0, "[join thread 101]", "woken_by=t1,woken_by_tid=101",
		 210 * US, 610 * US, 0);
	RAN({ 0, 0, 0, 210, WAITS }, { 0, 0, 610, 700, WAITS },
	    { 1, 1, 220, 600, WAITS });
	ask_half("take");
	check_estimate(605);
	ask_half("work");
	check_estimate(510);
}

/* t0 and t1 take turns of 3 ms on one CPU. */
TEST(what_if_threads_share_a_cpu)
{
	rig_call(0, WORK, 0, 15000 * US);
	rig_call(1, PUT, 2999 * US, 12000 * US);
	RAN({ 0, 0, 0, 3000, STAYS }, { 1, 0, 3000, 6000, STAYS },
	    { 0, 0, 6000, 9000, STAYS }, { 1, 0, 9000, 12000, WAITS },
	    { 0, 0, 12000, 15000, WAITS });
	ask_half("put");
	ck_assert_uint_eq(g_answer.cpus, 1);
	ck_assert_uint_eq(g_answer.stolen_ns, 0);
	ck_assert_uint_eq(g_answer.shared_ns, 9000 * US);
	/* Within the us of t1 before its first switch. */
	ck_assert_int_eq(g_answer.result, WHAT_IF_ESTIMATE);
	ck_assert_uint_ge(g_answer.estimate_ns, 11998 * US);
	ck_assert_uint_le(g_answer.estimate_ns, 12002 * US);
}

/* The kernel left a CPU idle while t2 waited for the other one. */
TEST(what_if_refuses_a_run_that_it_does_not_understand)
{
	for (int i = 0; i < 3; i++)
		rig_call(i, WORK, 0, (i == 2 ? 12000 : 6000) * US);
	RAN({ 2, 1, 0, 10, STAYS }, { 1, 1, 10, 6000, WAITS },
	    { 2, 1, 6000, 12000, WAITS }, { 0, 0, 0, 6500, WAITS });
	ask_half("work");
	ck_assert_int_eq(g_answer.result, WHAT_IF_CPU_BOUND);
	ck_assert_uint_le(g_answer.replayed_ns, 10000 * US);
	ck_assert_uint_eq(g_answer.estimate_ns, 0);
}

/* t0 and t1 wait until 200, and each ended the wait of the other. */
TEST(what_if_threads_wait_in_a_circle)
{
	rig_call(0, MAIN, 0, 900 * US);
	rig_call(1, WORK, 0, 900 * US);
	rig_wait(0, MUTEX, WOKEN("101"), 100 * US, 200 * US, 0);
	rig_wait(1, MUTEX, WOKEN("100"), 100 * US, 200 * US, 0);
	RAN({ 0, 0, 0, 100, WAITS }, { 0, 0, 200, 900, WAITS },
	    { 1, 1, 0, 100, WAITS }, { 1, 1, 200, 900, WAITS });
	ask_half("work");
	ck_assert_int_eq(g_answer.result, WHAT_IF_CIRCLE);
	ck_assert_uint_eq(g_answer.replayed_ns, 0);
	ck_assert_uint_eq(g_answer.estimate_ns, 0);
}

TEST(what_if_a_run_would_take_centuries)
{
	struct what_if_change change = { .pattern = "main", .factor = 1e30 };

	rig_call(0, MAIN, 0, 900 * US);
	RAN({ 0, 0, 0, 900, WAITS });
	ask(&change, 1);
	ck_assert_int_eq(g_answer.result, WHAT_IF_ESTIMATE);
	ck_assert_uint_gt(g_answer.estimate_ns, INT64_MAX / 2);
	ck_assert_uint_ge(g_answer.high_ns, g_answer.estimate_ns);
	/* The numbers of JSON have a sign. */
	ck_assert_uint_le(g_answer.high_ns, INT64_MAX);
}

TEST(what_if_needs_switches_and_calls)
{
	rig_call(0, MAIN, 0, 900 * US);
	ask_half("main");
	ck_assert_int_eq(g_answer.result, WHAT_IF_NO_SWITCHES);
	rig_start(4);
	ask_half("main");
	ck_assert_int_eq(g_answer.result, WHAT_IF_NO_CALLS);
	/* The second half of the call has none. */
	rig_start(4);
	rig_call(0, MAIN, 0, 900 * US);
	RAN({ 0, 0, 0, 450, WAITS });
	ask_half("main");
	ck_assert_int_eq(g_answer.result, WHAT_IF_NO_SWITCHES);
}

/* Waits and stretches overlap, and threads wake themselves and each other in
 * circles. */
TEST(what_if_of_random_waits_has_a_range, EACH(1, 201))
{
	uint64_t random = (uint64_t)_i;
	struct ran ran[40];
	size_t count = 0;

	for (int i = 0; i < 4; i++) {
		uint64_t at = 0;

		rig_call(i, (uint32_t)(MAIN + i),
			 next_random(&random) % 50 * US,
			 (100 + next_random(&random) % 900) * US);
		for (int j = 0; j < 10; j++) {
			ran[count].thread = i;
			ran[count].cpu = (uint32_t)i;
			ran[count].from = at;
			at += 1 + next_random(&random) % 150;
			ran[count].to = at;
			ran[count++].why =
				next_random(&random) % 2 ? WAITS : STAYS;
			at += next_random(&random) % 20;
		}
	}
	for (int i = 0; i < 60; i++) {
		uint64_t from = next_random(&random) % 900 * US;
		char text[96];

		snprintf(text, sizeof(text), "%s%d", WOKEN("10"),
			 (int)(next_random(&random) % 5));
		rig_wait((int)(next_random(&random) % 4), MUTEX, text, from,
			 from + next_random(&random) % 200 * US,
			 next_random(&random) % 40);
		from = next_random(&random) % 900 * US;
		rig_hold((int)(next_random(&random) % 4), 0, LOCK, "put", from,
			 from + next_random(&random) % 200 * US,
			 next_random(&random) % 40);
	}
	write_ran(ran, count);
	ask_half("*");
	ck_assert_uint_le(g_answer.low_ns, g_answer.estimate_ns);
	ck_assert_uint_le(g_answer.estimate_ns, g_answer.high_ns);
}
