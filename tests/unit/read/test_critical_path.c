/* SPDX-License-Identifier: Apache-2.0
 *
 * The critical path of traces whose path is known by construction. The parts of
 * each path add up to its length.
 */
#include "collector/read/critical_path.h"
#include "collector/trace/out_sched.h"
#include "collector/trace/out_stacks.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "tests/unit/wait_rig.h"

#define LOCK "mutex app+0x40"
#define MUTEX "[mutex app+0x40]"
#define US UINT64_C(1000)
#define WOKEN(tid) "lock=" LOCK ",woken_by=x,woken_by_tid=" tid

static struct critical_path *g_path;

static void start(void)
{
	rig_start(4);
}

static void stop(void)
{
	critical_path_free(&g_path);
}

static void find_path(const struct path_wish *wish)
{
	char path[32];
	int fd = keep_trace(g_bytes, path);

	ck_assert_int_eq(critical_path_read(path, wish, NULL, &g_path), 0);
	close(fd);
}

static void find_path_of_run(void)
{
	find_path(&(struct path_wish){ .range = TIME_RANGE_ALL });
}

/* --- the result ----------------------------------------------------------- */

static struct path_row path_row_named(const char *function, uint32_t tid)
{
	const struct path_row *rows = g_path->rows.items;

	for (uint32_t i = 0; i < g_path->rows.count; i++)
		if (rows[i].tid == tid &&
		    !strcmp(trace_texts_get(&g_path->texts, rows[i].function),
			    function))
			return rows[i];
	return (struct path_row){ 0 };
}

static uint64_t stopped_ns(enum path_stop_why why, uint32_t tid)
{
	const struct path_stop *stops = g_path->stops.items;
	uint64_t ns = 0;

	for (uint32_t i = 0; i < g_path->stops.count; i++)
		if (stops[i].why == why && stops[i].tid == tid)
			ns += stops[i].ns;
	return ns;
}

static void check_sum(void)
{
	const struct path_row *rows = g_path->rows.items;
	const struct path_stop *stops = g_path->stops.items;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < g_path->rows.count; i++)
		sum += rows[i].ran_ns + rows[i].hand_over_ns +
		       rows[i].outside_ns + rows[i].unknown_ns;
	for (uint32_t i = 0; i < g_path->stops.count; i++)
		sum += stops[i].ns;
	ck_assert_uint_eq(sum, g_path->length_ns);
}

FIXTURE(start, stop);

/* --- known paths ---------------------------------------------------------- */

/* t1 works until 300, and t0 takes over until 900 after a hand-over of 20. */
static void write_two(void)
{
	rig_begin(0, MAIN, 0);
	rig_begin(0, TAKE, 90 * US);
	rig_end(0, 350 * US);
	rig_call(0, WORK, 400 * US, 900 * US);
	rig_end(0, 900 * US);
	rig_begin(1, MAIN, 0);
	rig_call(1, PUT, 50 * US, 310 * US);
	rig_end(1, 500 * US);
	rig_wait(0, MUTEX, WOKEN("101"), 100 * US, 320 * US, 9);
	rig_hold(1, 0, LOCK, "put", 60 * US, 300 * US, 9);
}

TEST(path_of_a_run_follows_the_holder)
{
	write_two();
	find_path_of_run();
	check_sum();
	ck_assert_uint_eq(g_path->length_ns, 900 * US);
	ck_assert_uint_eq(path_row_named("work", 100).ran_ns, 500 * US);
	ck_assert_uint_eq(path_row_named("main", 100).ran_ns, 50 * US);
	ck_assert_uint_eq(path_row_named("take", 100).ran_ns, 30 * US);
	ck_assert_uint_eq(path_row_named("take", 100).hand_over_ns, 20 * US);
	ck_assert_uint_eq(path_row_named("put", 101).ran_ns, 250 * US);
	ck_assert_uint_eq(path_row_named("main", 101).ran_ns, 50 * US);
	ck_assert_uint_eq(g_path->stops.count, 0);
	ck_assert_uint_eq(g_path->hand_overs.count, 1);
	ck_assert(!g_path->has_switches);
}

TEST(path_of_a_range_ends_in_it)
{
	write_two();
	find_path(&(struct path_wish){
		.range = { START_NS + 200 * US, START_NS + 310 * US },
		.thread = "t0" });
	check_sum();
	ck_assert_uint_eq(g_path->length_ns, 110 * US);
	ck_assert_uint_eq(path_row_named("take", 100).hand_over_ns, 10 * US);
	ck_assert_uint_eq(path_row_named("put", 101).ran_ns, 100 * US);
}

TEST(path_of_calls_ends_at_their_begin)
{
	const struct path_call calls[] = {
		{ RIG_THREAD(0), START_NS + 90 * US, START_NS + 350 * US },
		{ RIG_THREAD(1), START_NS + 50 * US, START_NS + 310 * US },
		/* An unknown track has no path. */
		{ 1, START_NS, START_NS + 50 * US },
	};

	write_two();
	find_path(&(struct path_wish){ .calls = calls, .call_count = 3 });
	check_sum();
	ck_assert_uint_eq(g_path->chains, 2);
	ck_assert_uint_eq(g_path->length_ns, 520 * US);
	/* Both contain put() of t1: 210 and 260. */
	ck_assert_uint_eq(path_row_named("put", 101).ran_ns, 470 * US);
	ck_assert_uint_eq(path_row_named("take", 100).ran_ns, 30 * US);
	ck_assert_uint_eq(path_row_named("take", 100).hand_over_ns, 20 * US);
}

/* t2 posts to t1, which posts to t0; t2 began last. */
TEST(path_goes_on_from_thread_to_thread)
{
	rig_call(0, MAIN, 0, 900 * US);
	rig_call(1, PUT, 0, 600 * US);
	rig_call(2, WORK, 200 * US, 400 * US);
	rig_wait(0, "[semaphore app+0x8]",
		 "lock=semaphore app+0x8,woken_by=t1,woken_by_tid=101", 10 * US,
		 560 * US, 1);
	rig_signal(1, "posts semaphore app+0x8", 550 * US, 1);
	rig_wait(1, "[semaphore app+0x10]",
		 "lock=semaphore app+0x10,woken_by=t2,woken_by_tid=102",
		 20 * US, 390 * US, 2);
	rig_signal(2, "posts semaphore app+0x10", 380 * US, 2);
	find_path_of_run();
	check_sum();
	ck_assert_uint_eq(path_row_named("main", 100).ran_ns, 340 * US);
	ck_assert_uint_eq(path_row_named("main", 100).hand_over_ns, 10 * US);
	ck_assert_uint_eq(path_row_named("put", 101).ran_ns, 160 * US);
	ck_assert_uint_eq(path_row_named("put", 101).hand_over_ns, 10 * US);
	ck_assert_uint_eq(path_row_named("work", 102).ran_ns, 180 * US);
	ck_assert_uint_eq(stopped_ns(PATH_STOP_START, 102), 200 * US);
}

/* --- where it ends -------------------------------------------------------- */

static void write_waiter(const char *object, const char *text)
{
	rig_call(0, MAIN, 0, 900 * US);
	rig_wait(0, object, text, 100 * US, 300 * US, 0);
}

static const struct {
	const char *object, *text;
	int stop; /* enum path_stop_why; -1: none */
} g_stops[] = {
	{ "[pipe 5]", "", PATH_STOP_WAKER },
	{ MUTEX, "lock=" LOCK ",woken_by=unknown", PATH_STOP_WAKER },
	{ MUTEX, "lock=" LOCK ",result=end of process", PATH_STOP_WAKER },
	{ MUTEX, WOKEN("999"), PATH_STOP_SILENT },
	{ "[sleep]", "", -1 },
	{ MUTEX, "lock=" LOCK ",woken_by=outside", -1 },
	{ MUTEX, "lock=" LOCK ",result=timed out", -1 },
};

TEST(path_stops_where_the_waker_is_not_known, EACH(0, ARRAY_SIZE(g_stops)))
{
	const int why = g_stops[_i].stop;

	write_waiter(g_stops[_i].object, g_stops[_i].text);
	find_path_of_run();
	check_sum();
	if (why < 0) {
		ck_assert_uint_eq(g_path->stops.count, 0);
		ck_assert_uint_eq(path_row_named("main", 100).outside_ns,
				  200 * US);
		ck_assert_uint_eq(path_row_named("main", 100).ran_ns, 700 * US);
		return;
	}
	ck_assert_uint_eq(stopped_ns((enum path_stop_why)why, 100), 300 * US);
	ck_assert_uint_eq(path_row_named("main", 100).ran_ns, 600 * US);
}

TEST(path_passes_short_waits_up_to_a_hundredth)
{
	rig_call(0, MAIN, 0, 10000 * US);
	rig_wait(0, "[pipe 5]", "", 7000 * US, 7060 * US, 0);
	rig_wait(0, "[pipe 5]", "", 5000 * US, 5030 * US, 0);
	rig_wait(0, "[pipe 5]", "", 3000 * US, 3020 * US, 0);
	find_path_of_run();
	check_sum();
	ck_assert_uint_eq(path_row_named("main", 100).unknown_ns, 90 * US);
	ck_assert_uint_eq(stopped_ns(PATH_STOP_WAKER, 100), 3020 * US);
}

TEST(path_stops_at_a_waker_that_waits_itself)
{
	rig_call(0, MAIN, 0, 900 * US);
	rig_call(1, PUT, 0, 600 * US);
	rig_wait(0, MUTEX, WOKEN("101"), 100 * US, 500 * US, 0);
	rig_wait(1, MUTEX, WOKEN("100"), 50 * US, 550 * US, 0);
	find_path_of_run();
	check_sum();
	ck_assert_uint_ge(stopped_ns(PATH_STOP_WAITED, 101), 499 * US);
}

TEST(path_forgives_inexact_clocks_of_a_waker)
{
	rig_call(0, MAIN, 0, 900 * US);
	rig_call(1, PUT, 0, 600 * US);
	rig_wait(0, MUTEX, WOKEN("101"), 100 * US, 500 * US, 7);
	rig_hold(1, 0, LOCK, "put", 50 * US, 490 * US, 7);
	rig_wait(1, "[sleep]", "", 480 * US, 590 * US, 0);
	find_path_of_run();
	check_sum();
	ck_assert_uint_eq(g_path->stops.count, 0);
	ck_assert_uint_eq(path_row_named("put", 101).ran_ns, 480 * US);
	ck_assert_uint_eq(path_row_named("put", 101).hand_over_ns, 10 * US);
}

/* A damaged trace: the track has open slices when it becomes a thread. */
TEST(path_of_a_late_thread_has_its_calls)
{
	const struct out_thread thread = { .uuid = 6000,
					   .sequence = 99,
					   .pid = 7,
					   .tid = 106,
					   .name = "late",
					   .start_ns = START_NS };

	rig_call(0, MAIN, 0, 900 * US);
	rig_sequence(6000, 0, "context", 0);
	for (int i = 0; i < 3; i++)
		rig_event((struct out_event){ .type = OUT_BEGIN,
					      .name = "deep" });
	wrote(out_perfetto_thread(ROOM, &thread));
	for (int i = 0; i < 3; i++)
		rig_event((struct out_event){ .type = OUT_END,
					      .delta_ns = 400 * US });
	find_path_of_run();
	check_sum();
	ck_assert_uint_eq(g_path->length_ns, 1200 * US);
	ck_assert_uint_eq(path_row_named("", 106).ran_ns, 1200 * US);
}

TEST(path_of_a_trace_without_calls_is_empty)
{
	find_path_of_run();
	ck_assert_uint_eq(g_path->chains, 0);
	ck_assert_uint_eq(g_path->rows.count, 0);
}

/* As in --view lock. */
TEST(path_calls_a_lock_by_the_name_that_has_its_variable)
{
	static const char name[] = "mutex journal (app+0x40)";
	const struct path_hand_over *hand_over;
	const struct path_stop *stop;

	rig_call(0, MAIN, 0, 900 * US);
	rig_call(1, PUT, 0, 600 * US);
	rig_wait(0, MUTEX,
		 "lock=mutex journal (app+0x40),woken_by=x,woken_by_tid=101",
		 400 * US, 500 * US, 0);
	rig_wait(1, MUTEX, "lock=mutex journal (app+0x40),woken_by=unknown",
		 100 * US, 300 * US, 0);
	find_path_of_run();
	check_sum();
	ck_assert_uint_eq(g_path->hand_overs.count, 1);
	ck_assert_uint_eq(g_path->stops.count, 1);
	hand_over = g_path->hand_overs.items;
	stop = g_path->stops.items;
	ck_assert_str_eq(trace_texts_get(&g_path->texts, hand_over->object),
			 name);
	ck_assert_str_eq(trace_texts_get(&g_path->texts, stop->object), name);
}

/* --- switches ------------------------------------------------------------- */

/* us: t0 runs, except for a preemption of 20 at 700, a wait without a slice from
 * 600 to 650, and another of 5 at 500. */
static void write_switches(void)
{
	static const uint16_t out[] = { 500, 600, 700, 900 };
	static const uint16_t in[] = { 0, 505, 650, 720 };
	struct out_sched *sched;

	ck_assert_int_eq(out_sched_new(2, 90, wrote_switches, NULL, &sched), 0);
	for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
		out_sched_in(sched, 0, START_NS + in[i] * US, 100);
		out_sched_out(sched, 0, START_NS + out[i] * US, 100,
			      out[i] == 700 ? OUT_SCHED_PREEMPTED
					    : OUT_SCHED_BLOCKED);
	}
	out_sched_end(sched, START_NS + 1000 * US);
	out_sched_free(&sched);
}

TEST(path_has_times_on_a_cpu_and_stops_at_unread_waits)
{
	rig_call(0, MAIN, 0, 900 * US);
	write_switches();
	find_path_of_run();
	check_sum();
	ck_assert(g_path->has_switches);
	ck_assert_uint_eq(path_row_named("main", 100).ran_ns, 250 * US);
	ck_assert_uint_eq(path_row_named("main", 100).on_cpu_ns, 230 * US);
	ck_assert_uint_eq(path_row_named("main", 100).runnable_ns, 20 * US);
	ck_assert_uint_eq(stopped_ns(PATH_STOP_WAKER, 100), 650 * US);
}

/* t0 has no calls, and its only CPU sample comes after a wait. */
TEST(path_of_samples_stops_at_unread_waits)
{
	struct out_sample sample = { .pid = 7, .tid = 100 };

	wrote(out_stacks_first(ROOM, 4, 99));
	sample.ns = START_NS + 880 * US;
	wrote(out_stacks_sample(ROOM, 4, &sample));
	rig_call(1, MAIN, 10 * US, 20 * US);
	write_switches();
	find_path_of_run();
	check_sum();
	ck_assert_uint_eq(g_path->length_ns, 870 * US);
	ck_assert_uint_eq(path_row_named("", 100).ran_ns, 230 * US);
	ck_assert_uint_eq(path_row_named("", 100).on_cpu_ns, 210 * US);
	ck_assert_uint_eq(stopped_ns(PATH_STOP_WAKER, 100), 640 * US);
}

TEST(path_knows_unread_parts_of_a_wait)
{
	rig_call(0, MAIN, 0, 900 * US);
	rig_wait(0, "[sleep]", "", 590 * US, 660 * US, 0);
	write_switches();
	find_path_of_run();
	check_sum();
	ck_assert_uint_eq(g_path->stops.count, 0);
	ck_assert_uint_eq(path_row_named("main", 100).outside_ns, 70 * US);
	ck_assert_uint_eq(path_row_named("main", 100).ran_ns, 830 * US);
	/* Off a CPU at 500, for 5. */
	ck_assert_uint_eq(path_row_named("main", 100).on_cpu_ns, 805 * US);
}

/* take() sleeps five times. The trace has the first @read sleeps except the third. */
static void write_sleeps(int read)
{
	struct out_sched *sched;

	ck_assert_int_eq(out_sched_new(2, 90, wrote_switches, NULL, &sched), 0);
	rig_begin(0, MAIN, 0);
	rig_begin(0, TAKE, 10 * US);
	for (int i = 0; i < 5; i++) {
		const uint64_t at = (100 + 100 * (uint64_t)i) * US;

		out_sched_in(sched, 0, START_NS + at - 50 * US, 100);
		out_sched_out(sched, 0, START_NS + at, 100, OUT_SCHED_BLOCKED);
		if (i != 2 && i < read)
			rig_wait(0, "[sleep]", "", at, at + 50 * US, 0);
	}
	out_sched_in(sched, 0, START_NS + 550 * US, 100);
	out_sched_end(sched, START_NS + 1000 * US);
	out_sched_free(&sched);
	rig_end(0, 700 * US);
	rig_end(0, 900 * US);
}

TEST(path_takes_an_unread_wait_for_one_like_the_others)
{
	write_sleeps(5);
	find_path_of_run();
	check_sum();
	ck_assert_uint_eq(g_path->stops.count, 0);
	ck_assert_uint_eq(path_row_named("take", 100).outside_ns, 250 * US);
	ck_assert_uint_eq(path_row_named("take", 100).ran_ns, 440 * US);
}

TEST(path_takes_two_read_waits_for_no_rule)
{
	write_sleeps(2);
	find_path_of_run();
	check_sum();
	ck_assert_uint_eq(stopped_ns(PATH_STOP_WAKER, 100), 550 * US);
}

/* t0 sleeps eleven times in take(), and t1 waits as often for a lock there, all for
 * 50. The trace lacks sleep @left; sleep @longer takes 2,000. */
static void write_sleeps_and_locks(int left, int longer)
{
	struct out_sched *sched;
	uint64_t at = 50;

	ck_assert_int_eq(out_sched_new(2, 90, wrote_switches, NULL, &sched), 0);
	for (int i = 0; i < 2; i++)
		rig_begin(i, TAKE, 10 * US);
	for (int i = 0; i <= 11; i++, at += 50) {
		const uint64_t from = at + 50;
		const uint64_t took = i == longer ? 2000 : 50;

		for (uint32_t cpu = 0; cpu < 2; cpu++) {
			out_sched_in(sched, cpu, START_NS + at * US,
				     100 + (int)cpu);
			if (i < 11)
				out_sched_out(sched, cpu, START_NS + from * US,
					      100 + (int)cpu,
					      OUT_SCHED_BLOCKED);
		}
		if (i < 11)
			rig_wait(1, MUTEX, "lock=" LOCK ",woken_by=unknown",
				 from * US, (from + took) * US, 0);
		if (i < 11 && i != left)
			rig_wait(0, "[sleep]", "", from * US,
				 (from + took) * US, 0);
		at = from + took - 50;
	}
	out_sched_end(sched, START_NS + (at + 100) * US);
	out_sched_free(&sched);
	rig_end(1, (at + 50) * US);
	rig_end(0, (at + 60) * US);
}

/* All waits for locks have a slice, so it was a sleep. */
TEST(path_takes_an_unread_wait_for_no_wait_for_a_lock)
{
	write_sleeps_and_locks(5, -1);
	find_path_of_run();
	check_sum();
	ck_assert_uint_eq(g_path->stops.count, 0);
	ck_assert_uint_eq(path_row_named("take", 100).outside_ns, 11 * 50 * US);
}

/* As for offcpu.pb.gz. */
TEST(path_takes_a_long_unread_wait_for_none_like_short_ones)
{
	write_sleeps_and_locks(5, 5);
	find_path_of_run();
	check_sum();
	ck_assert_uint_gt(stopped_ns(PATH_STOP_WAKER, 100), 2000 * US);
}

/* --- any waits ------------------------------------------------------------ */

/* Waits overlap, and threads wake themselves and each other in circles. */
TEST(path_of_random_waits_adds_up, EACH(1, 201))
{
	uint64_t random = (uint64_t)_i;
	struct path_call calls[20];

	for (int i = 0; i < 4; i++)
		rig_call(i, (uint32_t)(MAIN + i),
			 next_random(&random) % 50 * US,
			 (100 + next_random(&random) % 900) * US);
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
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		uint64_t from = START_NS + next_random(&random) % 900 * US;

		calls[i] = (struct path_call){
			(uint64_t)RIG_THREAD(next_random(&random) % 4), from,
			from + next_random(&random) % 300 * US
		};
	}
	find_path(&(struct path_wish){ .calls = calls,
				       .call_count = ARRAY_SIZE(calls) });
	check_sum();
	critical_path_free(&g_path);
	find_path_of_run();
	check_sum();
}
