/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits and holds of a trace: who ended a wait, and how the blocked time of a lock
 * is divided among its holders. A division that looks at each ns has the same
 * result.
 */
#include "collector/read/lock_sums.h"

#include "collector/read/lock_groups.h"
#include "collector/read/lock_waiters.h"
#include "collector/read/wait_stacks.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "tests/unit/wait_rig.h"

#define LOCK "mutex app+0x40"
#define MUTEX "[mutex app+0x40]"

static struct trace_waits *g_waits;
static struct lock_sums g_sums;
static enum lock_sums_by g_by;
static struct wait_stacks g_stacks;
static struct lock_waiters g_waiters;

static void start(void)
{
	g_by = LOCK_SUMS_BY_LOCK;
	rig_start(4);
}

static void stop(void)
{
	lock_sums_release(&g_sums);
	lock_waiters_release(&g_waiters);
	wait_stacks_release(&g_stacks);
	trace_waits_free(&g_waits);
}

static void read_waits(void)
{
	char path[32];
	int fd = keep_trace(g_bytes, path);

	ck_assert_int_eq(trace_waits_read(path, NULL, NULL, &g_waits), 0);
	ck_assert_int_eq(g_waits->err, 0);
	close(fd);
}

static void sum_part(uint64_t from, uint64_t to, const char *thread)
{
	const struct time_range range = { START_NS + from, START_NS + to };
	bool met;

	if (!g_waits)
		read_waits();
	lock_sums_release(&g_sums);
	ck_assert_int_eq(
		lock_sums_make(g_waits, &range, thread, g_by, &met, &g_sums),
		0);
	ck_assert(met);
}

static void sum_all(void)
{
	sum_part(0, UINT32_MAX, NULL);
}

static const char *waits_name(uint32_t number)
{
	return trace_texts_get(&g_waits->texts, number);
}

static const struct lock_row *find_row(const char *lock)
{
	const struct lock_row *rows = g_sums.rows.items;

	for (uint32_t i = 0; i < g_sums.rows.count; i++)
		if (!strcmp(waits_name(rows[i].lock), lock))
			return &rows[i];
	ck_abort_msg("no lock '%s'", lock);
}

static uint64_t part_ns(const char *lock, uint32_t tid, const char *function)
{
	const struct lock_part *part = g_sums.parts.items;
	const struct lock_row *rows = g_sums.rows.items;
	const struct lock_row *row = find_row(lock);

	for (uint32_t i = 0; i < g_sums.parts.count; i++)
		if (&rows[part[i].row] == row && part[i].tid == tid &&
		    !strcmp(waits_name(part[i].function), function))
			return part[i].ns;
	return 0;
}

static const struct trace_wait *first_wait(int thread)
{
	const struct trace_track *track = trace_reader_find_track(
		g_waits->reader, (uint64_t)RIG_THREAD(thread));
	const struct trace_wait *first;

	ck_assert_ptr_nonnull(track);
	ck_assert_uint_ge(trace_waits_of(g_waits, track, &first), 1);
	return first;
}

FIXTURE(start, stop);

TEST(trace_waits_follow_a_flow_to_the_waker)
{
	rig_wait(0, MUTEX, "lock=" LOCK ",woken_by=t9,woken_by_tid=102", 100,
		 400, 77);
	rig_hold(1, 0, LOCK, "put", 50, 390, 77);
	read_waits();
	ck_assert_uint_eq(first_wait(0)->waker->uuid, RIG_THREAD(1));
	ck_assert_uint_eq(first_wait(0)->release_ns, START_NS + 390);
	ck_assert_int_eq(first_wait(0)->end, WAIT_END_THREAD);
}

TEST(trace_waits_without_a_flow_name_the_thread_by_its_number)
{
	rig_call(1, PUT, 10, 700);
	rig_wait(0, MUTEX, "lock=" LOCK ",woken_by=t1,woken_by_tid=101", 100,
		 400, 0);
	rig_hold(1, 0, LOCK, "put", 50, 200, 0);
	rig_hold(1, 0, LOCK, "put", 210, 380, 0);
	rig_hold(1, 1, "mutex app+0x80", "put", 50, 395, 0);
	rig_hold(1, 0, LOCK, "put", 400, 500, 0);
	read_waits();
	ck_assert_uint_eq(first_wait(0)->waker->uuid, RIG_THREAD(1));
	ck_assert_uint_eq(first_wait(0)->release_ns, START_NS + 380);
}

static const struct {
	const char *object, *text;
	enum wait_end end;
} g_ends[] = {
	{ "[pipe 5]", "lock=pipe 5,woken_by=unknown", WAIT_END_UNKNOWN },
	{ "[pipe 5]", "", WAIT_END_UNKNOWN },
	{ "[pipe 5]", "lock=pipe 5,woken_by=outside", WAIT_END_OUTSIDE },
	{ "[sleep]", "", WAIT_END_OUTSIDE },
	{ "[file /a]", "", WAIT_END_OUTSIDE },
	{ MUTEX, "lock=" LOCK ",woken_by=t1,result=timed out",
	  WAIT_END_TIMEOUT },
	{ MUTEX, "lock=" LOCK ",result=end of process", WAIT_END_PROCESS },
	{ MUTEX, "lock=" LOCK ",woken_by=t1", WAIT_END_THREAD },
};

TEST(trace_waits_know_how_they_ended, EACH(0, ARRAY_SIZE(g_ends)))
{
	rig_wait(0, g_ends[_i].object, g_ends[_i].text, 100, 400, 0);
	read_waits();
	ck_assert_int_eq(first_wait(0)->end, g_ends[_i].end);
	ck_assert_ptr_null(first_wait(0)->waker);
}

TEST(trace_waits_for_the_end_of_a_thread_end_with_it)
{
	rig_call(1, WORK, 10, 350);
	rig_call(0, MAIN, 0, 900);
	rig_wait(0, "[join thread 101]", "", 100, 400, 0);
	read_waits();
	ck_assert_uint_eq(first_wait(0)->waker->uuid, RIG_THREAD(1));
	ck_assert_uint_eq(first_wait(0)->release_ns, START_NS + 350);
}

TEST(lock_sums_divide_a_wait_among_its_holders)
{
	/* 20 unknown, t1 80 and 100, hand-over 20, t2 170, hand-over 10. */
	rig_wait(0, MUTEX, "lock=" LOCK ",woken_by=t2", 100, 500, 0);
	rig_hold(1, 0, LOCK, "put", 120, 200, 0);
	rig_hold(1, 0, LOCK, "put", 200, 300, 0);
	rig_hold(2, 0, LOCK, "work", 320, 490, 0);
	/* Other locks have their own waits. */
	rig_hold(3, 0, "mutex app+0x80", "work", 0, 900, 0);
	rig_wait(3, "[sleep]", "", 0, 1000, 0);
	sum_all();
	ck_assert_uint_eq(g_sums.rows.count, 1);
	ck_assert_uint_eq(find_row(LOCK)->blocked_ns, 400);
	ck_assert_uint_eq(find_row(LOCK)->waits, 1);
	ck_assert_uint_eq(find_row(LOCK)->holds, 3);
	ck_assert_uint_eq(find_row(LOCK)->held_ns, 350);
	ck_assert_uint_eq(find_row(LOCK)->longest_ns, 170);
	ck_assert_uint_eq(find_row(LOCK)->hand_over_ns, 30);
	ck_assert_uint_eq(find_row(LOCK)->unknown_ns, 20);
	ck_assert_uint_eq(part_ns(LOCK, 101, "put"), 180);
	ck_assert_uint_eq(part_ns(LOCK, 102, "work"), 170);
	ck_assert_uint_eq(g_sums.other_ns, 1000);
	ck_assert_uint_eq(g_sums.other_waits, 1);
}

TEST(lock_sums_count_each_waiter_and_halve_shared_holds)
{
	rig_wait(0, "[rwlock app+0x8]", "lock=rwlock app+0x8", 100, 200, 0);
	rig_wait(1, "[rwlock app+0x8]", "lock=rwlock app+0x8", 150, 200, 0);
	rig_hold(2, 0, "rwlock app+0x8", "take", 50, 200, 0);
	rig_hold(3, 0, "rwlock app+0x8", "take", 100, 250, 0);
	sum_all();
	ck_assert_uint_eq(find_row("rwlock app+0x8")->blocked_ns, 150);
	ck_assert_uint_eq(part_ns("rwlock app+0x8", 102, "take"), 75);
	ck_assert_uint_eq(part_ns("rwlock app+0x8", 103, "take"), 75);
	ck_assert_uint_eq(find_row("rwlock app+0x8")->unknown_ns, 0);
}

TEST(lock_sums_of_a_condition_name_its_wakers)
{
	const char *lock = "condition app+0x8";

	rig_wait(0, "[condition app+0x8]",
		 "lock=condition app+0x8,woken_by=t1,woken_by_tid=101,woken_in="
		 "put",
		 100, 200, 5);
	rig_signal(1, "signals condition app+0x8", 190, 5);
	rig_wait(0, "[condition app+0x8]",
		 "lock=condition app+0x8,woken_by=far,woken_by_tid=9,woken_in="
		 "put",
		 300, 330, 0);
	rig_wait(0, "[condition app+0x8]",
		 "lock=condition app+0x8,result=timed out", 400, 407, 0);
	rig_wait(0, "[condition app+0x8]",
		 "lock=condition app+0x8,woken_by=outside", 500, 503, 0);
	rig_wait(0, "[condition app+0x8]",
		 "lock=condition app+0x8,woken_by=unknown", 600, 602, 0);
	rig_wait(0, "[condition app+0x8]",
		 "lock=condition app+0x8,result=end of process", 700, 701, 0);
	sum_all();
	ck_assert(!find_row(lock)->held);
	ck_assert_uint_eq(find_row(lock)->blocked_ns, 143);
	ck_assert_uint_eq(part_ns(lock, 101, "put"), 100);
	ck_assert_uint_eq(part_ns(lock, 9, "put"), 30);
	ck_assert_uint_eq(find_row(lock)->timed_out_ns, 7);
	ck_assert_uint_eq(find_row(lock)->outside_ns, 3);
	ck_assert_uint_eq(find_row(lock)->unknown_ns, 2);
	ck_assert_uint_eq(find_row(lock)->ended_ns, 1);
}

TEST(lock_sums_of_a_part_are_cut)
{
	rig_wait(0, MUTEX, "lock=" LOCK, 100, 500, 0);
	rig_wait(2, MUTEX, "lock=" LOCK, 250, 500, 0);
	rig_hold(1, 0, LOCK, "put", 50, 480, 0);
	sum_part(200, 300, NULL);
	ck_assert_uint_eq(find_row(LOCK)->blocked_ns, 150);
	ck_assert_uint_eq(find_row(LOCK)->held_ns, 100);
	ck_assert_uint_eq(part_ns(LOCK, 101, "put"), 150);
	sum_part(200, 300, "t2");
	ck_assert_uint_eq(find_row(LOCK)->blocked_ns, 50);
	ck_assert_uint_eq(part_ns(LOCK, 101, "put"), 50);
	sum_part(600, 700, NULL);
	ck_assert_uint_eq(g_sums.rows.count, 0);
}

/* --- functions that waited ------------------------------------------------ */

static void sum_waiters(void)
{
	const struct time_range all = { 0, UINT64_MAX };
	char path[32];
	int fd = keep_trace(g_bytes, path);

	read_waits();
	ck_assert_int_eq(wait_stacks_read(path, g_waits, NULL, &g_stacks), 0);
	ck_assert_int_eq(
		lock_waiters_make(g_waits, &g_stacks, &all, NULL, &g_waiters),
		0);
	close(fd);
}

static uint32_t waiter_number(const char *function)
{
	const struct waiter_row *rows = g_waiters.rows.items;

	for (uint32_t i = 0; i < g_waiters.rows.count; i++)
		if (!strcmp(waits_name(rows[i].function), function))
			return i;
	ck_abort_msg("'%s' did not wait", function);
}

static const struct waiter_row *find_waiter(const char *function)
{
	return &((const struct waiter_row *)
			 g_waiters.rows.items)[waiter_number(function)];
}

static uint64_t waited_for_ns(const char *function, uint32_t tid,
			      const char *in, bool held)
{
	const struct waiter_part *part;
	uint32_t count =
		lock_waiters_parts(&g_waiters, waiter_number(function), &part);

	for (; count; count--, part++)
		if (part->tid == tid && part->held == held &&
		    !strcmp(waits_name(part->function), in))
			return part->ns;
	return 0;
}

static uint64_t parts_of_waiter_ns(const char *function)
{
	const struct waiter_row *row = find_waiter(function);
	const struct waiter_part *part;
	uint32_t count =
		lock_waiters_parts(&g_waiters, waiter_number(function), &part);
	uint64_t ns = row->hand_over_ns + row->outside_ns + row->timed_out_ns +
		      row->ended_ns + row->unknown_ns;

	for (; count; count--, part++)
		ns += part->ns;
	return ns;
}

TEST(a_wait_counts_for_all_functions_around_it)
{
	rig_begin(0, MAIN, 0);
	rig_begin(0, TAKE, 90);
	/* A function counts once. */
	rig_begin(0, TAKE, 95);
	rig_end(0, 510);
	rig_end(0, 520);
	rig_call(0, WORK, 600, 700);
	rig_end(0, 900);
	rig_wait(0, MUTEX, "lock=" LOCK ",woken_by=t2", 100, 500, 0);
	rig_wait(0, "[sleep]", "", 610, 690, 0);
	rig_hold(1, 0, LOCK, "put", 50, 300, 0);
	rig_hold(2, 0, LOCK, "work", 320, 490, 0);
	sum_waiters();
	ck_assert_uint_eq(g_waiters.rows.count, 3);
	ck_assert_uint_eq(find_waiter("take")->waits, 1);
	ck_assert_uint_eq(find_waiter("take")->blocked_ns, 400);
	ck_assert_uint_eq(waited_for_ns("take", 101, "put", true), 200);
	ck_assert_uint_eq(waited_for_ns("take", 102, "work", true), 170);
	ck_assert_uint_eq(find_waiter("take")->hand_over_ns, 30);
	ck_assert_uint_eq(find_waiter("work")->outside_ns, 80);
	ck_assert_uint_eq(find_waiter("main")->blocked_ns, 480);
	ck_assert_uint_eq(find_waiter("main")->outside_ns, 80);
	ck_assert_uint_eq(waited_for_ns("main", 102, "work", true), 170);
}

TEST(functions_share_the_holders_of_a_lock)
{
	rig_call(0, TAKE, 0, 900);
	rig_call(2, WORK, 0, 900);
	rig_wait(0, MUTEX, "lock=" LOCK ",woken_by=t1", 100, 500, 0);
	rig_wait(2, MUTEX, "lock=" LOCK, 250, 500, 0);
	rig_wait(2, "[pipe 5]", "woken_by=t1,woken_by_tid=101,woken_in=put",
		 600, 630, 0);
	rig_hold(1, 0, LOCK, "put", 50, 480, 0);
	/* Not contended. */
	rig_hold(1, 0, LOCK, "put", 700, 800, 0);
	sum_waiters();
	ck_assert_uint_eq(waited_for_ns("take", 101, "put", true), 380);
	ck_assert_uint_eq(find_waiter("take")->hand_over_ns, 20);
	ck_assert_uint_eq(waited_for_ns("work", 101, "put", true), 230);
	ck_assert_uint_eq(find_waiter("work")->unknown_ns, 20);
	ck_assert_uint_eq(waited_for_ns("work", 101, "put", false), 30);
}

TEST(waits_without_calls_belong_to_no_function)
{
	rig_wait(0, MUTEX, "lock=" LOCK, 100, 500, 0);
	rig_call(0, WORK, 600, 700);
	sum_waiters();
	ck_assert_uint_eq(g_waiters.rows.count, 0);
}

/* The name of the innermost frame but @callers of @stack. */
static const char *frame_name(uint32_t stack, int callers)
{
	const struct wait_frame *frame = wait_stacks_frame(&g_stacks, stack);

	for (; frame && callers; callers--)
		frame = wait_stacks_frame(&g_stacks, frame->caller);
	return frame ? waits_name(frame->function) : "";
}

TEST(locks_of_objects_are_grouped_by_their_first_wait)
{
	const char *first = "mutex first waited for in take (0x10)";
	const char *second = "mutex first waited for in take (0x20)";
	const struct lock_part *parts;
	const struct lock_row *row;

	rig_begin(0, MAIN, 0);
	rig_begin(0, TAKE, 90);
	rig_end(0, 700);
	rig_end(0, 900);
	rig_begin(1, WORK, 10);
	rig_begin(1, PUT, 20);
	rig_end(1, 900);
	rig_end(1, 950);
	rig_wait(0, "[mutex 0x10]",
		 "lock=mutex first waited for in take (0x10),woken_by=t1", 100,
		 200, 0);
	rig_wait(0, "[mutex 0x20]",
		 "lock=mutex first waited for in take (0x20),woken_by=t1", 300,
		 350, 0);
	rig_wait(0, MUTEX, "lock=" LOCK ",woken_by=t1", 400, 410, 0);
	/* The first hold begins before any wait. */
	rig_hold(1, 0, first, "put", 90, 340, 0);
	rig_hold(1, 1, second, "put", 290, 345, 0);
	rig_hold(1, 2, LOCK, "put", 395, 410, 0);
	g_by = LOCK_SUMS_BY_HOLDER;
	sum_waiters();
	sum_all();
	ck_assert_uint_eq(g_sums.rows.count, 3);
	ck_assert_int_eq(lock_groups_make(&g_sums, g_waits), 0);
	ck_assert_uint_eq(g_sums.rows.count, 2);
	row = find_row("mutex first waited for in take");
	ck_assert_uint_eq(row->locks, 2);
	ck_assert_uint_eq(row->waits, 2);
	ck_assert_uint_eq(row->blocked_ns, 150);
	ck_assert_uint_eq(row->hand_over_ns, 5);
	ck_assert_uint_eq(row->holds, 2);
	ck_assert_str_eq(frame_name(row->stack, 0), "take");
	ck_assert_str_eq(frame_name(row->stack, 1), "main");
	ck_assert_str_eq(frame_name(row->stack, 2), "");
	ck_assert_uint_eq(find_row(LOCK)->locks, 1);
	ck_assert_uint_eq(find_row(LOCK)->stack, 0);
	ck_assert_uint_eq(g_sums.parts.count, 2);
	parts = g_sums.parts.items;
	ck_assert_uint_eq(parts[0].ns, 145);
	ck_assert_uint_eq(parts[0].times, 2);
	ck_assert_str_eq(frame_name(parts[0].stack, 0), "put");
	ck_assert_str_eq(frame_name(parts[0].stack, 1), "work");
}

TEST(locks_without_calls_around_their_first_wait_stay_apart)
{
	rig_wait(0, "[mutex 0x10]", "lock=mutex 0x10", 100, 200, 0);
	rig_wait(0, "[mutex 0x20]", "lock=mutex 0x20", 300, 350, 0);
	g_by = LOCK_SUMS_BY_HOLDER;
	sum_waiters();
	sum_all();
	ck_assert_int_eq(lock_groups_make(&g_sums, g_waits), 0);
	ck_assert_uint_eq(g_sums.rows.count, 2);
	ck_assert_uint_eq(find_row("mutex 0x10")->blocked_ns, 100);
	ck_assert_uint_eq(find_row("mutex 0x20")->blocked_ns, 50);
}

/* Each of the stacks waits at the start and at the end of the run. */
TEST(many_stacks_may_wait_for_a_lock_with_many_holds)
{
	enum { STACKS = 4000, HOLDS = 2 * STACKS };
	const struct time_range all = { 0, UINT64_MAX };
	struct trace_wait *waits = calloc(HOLDS, sizeof(*waits));
	struct trace_hold *holds = calloc(HOLDS, sizeof(*holds));
	const struct lock_part *part;
	bool met;

	rig_wait(0, MUTEX, "lock=" LOCK ",woken_by=t1", 10, 20, 0);
	rig_hold(1, 0, LOCK, "put", 10, 20, 0);
	read_waits();
	for (uint32_t i = 0; i < HOLDS; i++) {
		waits[i] = g_waits->waits[0];
		holds[i] = g_waits->holds[0];
		waits[i].from_ns = holds[i].from_ns = 100 * (i + 1UL);
		waits[i].to_ns = holds[i].to_ns = 100 * (i + 1UL) + 50;
		waits[i].stack = 1 + i % STACKS;
	}
	free(g_waits->waits);
	free(g_waits->holds);
	g_waits->waits = waits;
	g_waits->holds = holds;
	g_waits->wait_count = g_waits->hold_count = HOLDS;
	ck_assert_int_eq(lock_sums_make(g_waits, &all, NULL,
					LOCK_SUMS_BY_WAITER, &met, &g_sums),
			 0);
	ck_assert_uint_eq(g_sums.rows.count, STACKS);
	ck_assert_uint_eq(g_sums.parts.count, STACKS);
	part = g_sums.parts.items;
	for (uint32_t i = 0; i < STACKS; i++) {
		ck_assert_uint_eq(part[i].ns, 100);
		ck_assert_uint_eq(part[i].times, 2);
	}
}

/* Each thread waits in one function only. */
TEST(waiters_are_those_of_their_threads, EACH(1, 21))
{
	static const char *const names[] = { "main", "take", "work", "put" };
	const struct time_range all = { 0, UINT64_MAX };
	uint64_t random = (uint64_t)_i;

	for (int i = 0; i < 4; i++)
		rig_call(i, MAIN + (uint32_t)i, 0, 1000);
	for (int i = 0; i < 6; i++) {
		uint64_t from = 1 + next_random(&random) % 900;

		rig_hold((int)(next_random(&random) % 4), i, LOCK, "put", from,
			 from + 1 + next_random(&random) % 90, 0);
	}
	for (int i = 0; i < 16; i++) {
		uint64_t from =
			1 + (uint64_t)i / 4 * 200 + next_random(&random) % 100;

		rig_wait(i % 4, MUTEX,
			 i % 3 ? "lock=" LOCK ",woken_by=t1" : "lock=" LOCK,
			 from, from + 1 + next_random(&random) % 90, 0);
	}
	sum_waiters();
	for (uint32_t i = 0; i < 4; i++) {
		const char thread[] = { 't', (char)('0' + i), '\0' };
		bool met;

		lock_sums_release(&g_sums);
		ck_assert_int_eq(lock_sums_make(g_waits, &all, thread,
						LOCK_SUMS_BY_LOCK, &met,
						&g_sums),
				 0);
		ck_assert_uint_eq(find_waiter(names[i])->blocked_ns,
				  find_row(LOCK)->blocked_ns);
		ck_assert_uint_eq(find_waiter(names[i])->unknown_ns,
				  find_row(LOCK)->unknown_ns);
		ck_assert_uint_eq(find_waiter(names[i])->hand_over_ns,
				  find_row(LOCK)->hand_over_ns);
		ck_assert_uint_eq(parts_of_waiter_ns(names[i]),
				  find_row(LOCK)->blocked_ns);
		for (uint32_t j = 0; j < 4; j++)
			ck_assert_uint_eq(
				waited_for_ns(names[i], 100 + j, "put", true),
				part_ns(LOCK, 100 + j, "put"));
	}
}

/* --- random waits and holds, ns for ns ------------------------------------ */

#define SPAN 200

struct piece {
	int thread;
	uint64_t from, to;
};

static struct piece random_piece(uint64_t *random)
{
	uint64_t from = next_random(random) % SPAN;

	return (struct piece){ (int)(next_random(random) % 4), from,
			       from + 1 + next_random(random) % (SPAN / 4) };
}

/* Adds the parts of @wait to @held (by thread, in 1/12 ns), hand-over and
 * unknown. There is no hand-over to a thread with an unknown waker. */
static void model_wait(const struct piece *wait, bool is_woken,
		       const struct piece *holds, int count, uint64_t held[4],
		       uint64_t *hand_over, uint64_t *unknown)
{
	bool released = false;

	for (uint64_t ns = wait->from; ns < wait->to; ns++) {
		uint64_t holders = 0;

		for (int i = 0; i < count; i++) {
			holders += holds[i].from <= ns && ns < holds[i].to;
			released |= holds[i].to == ns && ns > wait->from;
		}
		for (int i = 0; i < count && holders; i++)
			if (holds[i].from <= ns && ns < holds[i].to)
				held[holds[i].thread] += 12 / holders;
		if (!holders)
			*(released && is_woken ? hand_over : unknown) += 1;
	}
}

/* At most four holders at a time, so that 12 can be divided. */
TEST(lock_sums_are_those_of_each_ns, EACH(1, 41))
{
	uint64_t random = (uint64_t)_i;
	struct piece waits[12], holds[4];
	uint64_t held[4] = { 0 }, hand_over = 0, unknown = 0, blocked = 0;
	uint64_t shares = 0;

	for (int i = 0; i < 4; i++) {
		holds[i] = random_piece(&random);
		rig_hold(holds[i].thread, i, LOCK, "put", holds[i].from,
			 holds[i].to, 0);
	}
	for (int i = 0; i < 12; i++) {
		waits[i] = random_piece(&random);
		rig_wait(waits[i].thread, MUTEX,
			 i % 3 ? "lock=" LOCK ",woken_by=t1" : "lock=" LOCK,
			 waits[i].from, waits[i].to, 0);
		blocked += waits[i].to - waits[i].from;
		model_wait(&waits[i], i % 3, holds, 4, held, &hand_over,
			   &unknown);
	}
	sum_all();
	ck_assert_uint_eq(find_row(LOCK)->blocked_ns, blocked);
	ck_assert_uint_eq(find_row(LOCK)->hand_over_ns, hand_over);
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t ns = part_ns(LOCK, 100 + i, "put");

		/* Fractions of a ns are unknown. */
		ck_assert_uint_le(ns, held[i] / 12);
		ck_assert_uint_ge(ns + 24, held[i] / 12);
		shares += ns;
	}
	ck_assert_uint_ge(find_row(LOCK)->unknown_ns, unknown);
	ck_assert_uint_eq(shares + hand_over + find_row(LOCK)->unknown_ns,
			  blocked);
}
