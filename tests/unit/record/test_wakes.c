/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/record/wakes.h"
#include "shared/record_ext.h"
#include "tests/suite.h"

#define ROOM (1ULL << 30)
#define US 1000u
#define MS 1000000u
#define READER 10
#define PIPE 77u

static struct {
	struct budget budget;
	struct symbol_cache *cache;
	struct modules *modules;
	struct wakes *wakes;
} g;

static void begin_wakes(void)
{
	memset(&g, 0, sizeof(g));
	g.budget.left = ROOM;
	ck_assert_int_eq(symbol_cache_new(&g.cache), 0);
	ck_assert_int_eq(
		modules_new(getpid(), getpid(), NULL, g.cache, &g.modules), 0);
	ck_assert_int_eq(wakes_new(&g.budget, &g.wakes), 0);
}

static void end_wakes(void)
{
	wakes_free(&g.wakes);
	ck_assert_ptr_null(g.wakes);
	ck_assert_uint_eq(g.budget.left, ROOM);
	modules_put(&g.modules);
	symbol_cache_put(&g.cache);
}

static void expect(pid_t tid, uint64_t from_ns, uint64_t file)
{
	wakes_expect(g.wakes, tid, from_ns, &file, 1);
}

static void put_wake(pid_t tid, uint64_t ns, uint64_t file, bool closes)
{
	wakes_add(g.wakes, file,
		  &(struct wake){ .ns = ns,
				  .modules = g.modules,
				  .pid = 1,
				  .tid = tid,
				  .closes = closes });
}

/* Returns the thread that ended the wait of @tid; 0: unknown. */
static pid_t waker_of(pid_t tid, uint64_t from_ns, uint64_t to_ns)
{
	struct wake wake;

	if (!wakes_find(g.wakes, tid, from_ns, to_ns, &wake))
		return 0;
	modules_put(&wake.modules);
	return wake.tid;
}

TEST(wakes_first_write_after_the_sleep_ends_it)
{
	begin_wakes();
	put_wake(20, 1 * MS - 1, PIPE, false);
	expect(READER, 1 * MS, PIPE);
	put_wake(21, 2 * MS, PIPE, false);
	put_wake(22, 3 * MS, PIPE, false);
	put_wake(23, 1 * MS + 2, PIPE + 1, false);
	ck_assert_int_eq(waker_of(READER, 1 * MS, 4 * MS), 21);
	/* It was over before the write: by a signal or its time. */
	ck_assert_int_eq(waker_of(READER, 1 * MS, 2 * MS - 1), 0);
	/* Nobody has read such a wait. */
	ck_assert_int_eq(waker_of(READER, 1 * MS + 1, 4 * MS), 0);
	ck_assert_int_eq(waker_of(READER + 1, 1 * MS, 4 * MS), 0);
	end_wakes();
}

TEST(wakes_two_writes_at_once_prove_nobody)
{
	begin_wakes();
	expect(READER, 1 * MS, PIPE);
	put_wake(21, 2 * MS, PIPE, false);
	put_wake(22, 2 * MS + 10 * US, PIPE, false);
	ck_assert_int_eq(waker_of(READER, 1 * MS, 4 * MS), 0);
	/* The reader ran before the second one. */
	ck_assert_int_eq(waker_of(READER, 1 * MS, 2 * MS + 5 * US), 21);
	/* One thread may write as often as it likes. */
	expect(READER, 5 * MS, PIPE);
	put_wake(21, 6 * MS + 1, PIPE, false);
	put_wake(21, 6 * MS, PIPE, false);
	ck_assert_int_eq(waker_of(READER, 5 * MS, 7 * MS), 21);
	end_wakes();
}

TEST(wakes_of_several_readers_are_by_one_writer_or_unknown)
{
	begin_wakes();
	expect(READER, 1 * MS, PIPE);
	expect(READER + 1, 1 * MS + 1, PIPE);
	put_wake(21, 2 * MS, PIPE, false);
	ck_assert_int_eq(waker_of(READER, 1 * MS, 4 * MS), 21);
	put_wake(22, 3 * MS, PIPE, false);
	ck_assert_int_eq(waker_of(READER, 1 * MS, 4 * MS), 0);
	ck_assert_int_eq(waker_of(READER + 1, 1 * MS + 1, 4 * MS), 0);
	end_wakes();
}

TEST(wakes_close_counts_only_without_a_write)
{
	begin_wakes();
	expect(READER, 1 * MS, PIPE);
	put_wake(21, 2 * MS, PIPE, true);
	put_wake(22, 3 * MS, PIPE, true);
	put_wake(21, 2 * MS + 1, PIPE, true);
	ck_assert_int_eq(waker_of(READER, 1 * MS, 3 * MS + 90 * US), 22);
	/* It slept on: another end was open, and nobody knows its close. */
	ck_assert_int_eq(waker_of(READER, 1 * MS, 4 * MS), 0);
	put_wake(23, 3 * MS + 1, PIPE, false);
	ck_assert_int_eq(waker_of(READER, 1 * MS, 4 * MS), 23);
	end_wakes();
}

TEST(wakes_come_in_any_order)
{
	begin_wakes();
	/* A program may have written before the wait was read. */
	put_wake(21, 2 * MS, PIPE, false);
	expect(READER, 1 * MS, PIPE);
	expect(READER, 10 * MS, PIPE);
	/* All writes of one thread, then all of another one. */
	for (uint64_t ms = 3; ms < 15; ms++)
		put_wake(22, ms * MS + 500 * US, PIPE, false);
	put_wake(23, 10 * MS + 5, PIPE, false);
	put_wake(READER, 1 * MS + 5, PIPE, false);
	ck_assert_int_eq(waker_of(READER, 1 * MS, 2 * MS + 5), 21);
	ck_assert_int_eq(waker_of(READER, 10 * MS, 11 * MS - 1), 23);
	end_wakes();
}

TEST(wakes_sets_have_the_first_of_their_files)
{
	const uint64_t files[] = { PIPE, PIPE + 1,
				   wakes_file(3, SYNC_NUMBERED | 5) };

	begin_wakes();
	wakes_expect(g.wakes, READER, 1 * MS, files, 3);
	put_wake(20, 2 * MS, wakes_file(4, SYNC_NUMBERED | 5), false);
	put_wake(23, 5 * MS, PIPE, false);
	put_wake(22, 4 * MS, PIPE + 1, false);
	ck_assert_int_eq(waker_of(READER, 1 * MS, 6 * MS), 22);
	put_wake(21, 3 * MS, files[2], false);
	ck_assert_int_eq(waker_of(READER, 1 * MS, 6 * MS), 21);
	end_wakes();
}

/* A client may have any number of files and waits: they take no more memory, and no
 * wait gets a wrong name. */
TEST(wakes_have_bounds)
{
	uint64_t left;

	begin_wakes();
	for (uint64_t i = 1; i < 100000; i++) {
		expect(READER, i * MS, i);
		put_wake(21, i * MS + 1, i, false);
	}
	left = g.budget.left;
	ck_assert_uint_gt(left, ROOM - (16u << 20));
	for (uint64_t i = 1; i < 100000; i++) {
		pid_t tid = waker_of(READER, i * MS, i * MS + 2);

		ck_assert(tid == 21 || !tid);
	}
	ck_assert_int_eq(waker_of(READER, 99999ULL * MS, 99999ULL * MS + 2),
			 21);
	end_wakes();
	/* Without memory all is unknown. */
	begin_wakes();
	g.budget.left = 0;
	expect(READER, 1 * MS, PIPE);
	put_wake(21, 2 * MS, PIPE, false);
	ck_assert_int_eq(waker_of(READER, 1 * MS, 3 * MS), 0);
	g.budget.left = ROOM;
	end_wakes();
}
