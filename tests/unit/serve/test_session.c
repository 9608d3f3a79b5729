/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena_inner.h"
#include "collector/record/collector.h"
#include "collector/record/recording.h"
#include "collector/record/recording_inner.h"
#include "collector/replay/pause.h"
#include "collector/serve/session.h"
#include "shared/atomic.h"
#include "tests/suite.h"

#define USER 1000
#define OTHER 1001
#define PID 77

static struct session_limits g_limits;
static struct collect_options g_options;
static struct collector g_collector;
/* The page and the categories. A pause marks the latter changed. */
static union {
	struct page_shm page;
	char bytes[ARENA_CATEGORIES + CATEGORIES_BYTES];
} g_head;
static struct recording g_recording;
static struct arena g_arena;

static void setup(void)
{
	memset(&g_head, 0, sizeof(g_head));
	g_limits = (struct session_limits){ 0 };
	g_options = (struct collect_options){ 0 };
	g_collector = (struct collector){ .done_fd = -1,
					  .options = &g_options,
					  .limits = &g_limits };
	g_recording = (struct recording){ .setup.dir_fd = -1 };
	g_arena = (struct arena){ .setup = { .page = &g_head.page,
					     .bytes = 1 << 20,
					     .uid = USER,
					     .pauses = &g_arena.pauses,
					     .recording = &g_recording } };
	lock_init(&g_collector.lock, LOCK_COLLECTOR);
	lock_init(&g_arena.lock, LOCK_ARENA);
}

static void assert_refused(const char *why)
{
	const char *got = session_refuse(&g_collector, USER, PID, 1 << 20);

	ck_assert_ptr_nonnull(got);
	ck_assert_msg(strstr(got, why), "'%s', not '%s'", got, why);
}

FIXTURE(setup, NULL);

TEST(session_within_all_limits_is_let_in)
{
	ck_assert_ptr_null(session_refuse(&g_collector, USER, PID, 1 << 20));
}

TEST(session_too_many_at_once_are_refused)
{
	g_collector.process_count = 100000;
	g_limits.sessions = 1023;
	ck_assert_ptr_null(session_refuse(&g_collector, USER, PID, 1 << 20));
	g_limits.sessions = 1024;
	assert_refused("at once");
	g_limits.sessions = 0;
	g_collector.recording_count = 1024;
	assert_refused("at once");
}

static int begin_all(void)
{
	struct user *user = users_find(&g_limits.users, USER);
	int count = 0;

	while (!session_refuse(&g_collector, USER, PID, 1 << 20)) {
		session_begin(&g_collector, &g_arena);
		user->pace.begun_ns = 0; /* resets the rate limit */
		count++;
	}
	return count;
}

TEST(session_user_leaves_others_as_much)
{
	static const uid_t allowed[] = { OTHER };

	g_options.allowed = allowed;
	g_options.allowed_count = 1;
	ck_assert_int_eq(begin_all(), 512);
	assert_refused("at once");
	ck_assert_ptr_null(session_refuse(&g_collector, OTHER, PID, 1 << 20));
	while (g_limits.sessions)
		session_unlist(&g_collector, &g_arena);
	g_limits.max_total = 1000;
	g_limits.finished_bytes = 600;
	users_find(&g_limits.users, USER)->has.disk_bytes = 450;
	assert_refused("--max-total");
	ck_assert_ptr_null(session_refuse(&g_collector, OTHER, PID, 1 << 20));
}

TEST(session_only_user_may_have_all)
{
	ck_assert_int_eq(begin_all(), 1024);
}

TEST(session_users_have_rates_of_their_own)
{
	struct user *user = users_find(&g_limits.users, USER);

	user->pace.begun_ns = clock_boottime_ns() + 1000000000000;
	user->pace.spare_ns = user->pace.begun_ns;
	assert_refused("in a second");
	ck_assert_ptr_null(session_refuse(&g_collector, OTHER, PID, 1 << 20));
}

static bool may_have(uint64_t bytes)
{
	return !session_refuse(&g_collector, USER, PID, bytes);
}

TEST(session_too_much_memory_is_refused)
{
	uint64_t usual = 64ULL << 30;

	ck_assert(may_have(usual));
	ck_assert(!may_have(UINT64_MAX));
	g_limits.arena_bytes = (32ULL << 40) - usual;
	ck_assert(may_have(usual));
	ck_assert_int_eq(session_open(&g_collector, &g_arena, false), 0);
	session_begin(&g_collector, &g_arena);
	ck_assert(!may_have(usual));
	session_unlist(&g_collector, &g_arena);
	ck_assert(may_have(usual));
}

TEST(session_large_ones_leave_a_quarter)
{
	uint64_t most = 24ULL << 40;

	ck_assert(may_have(most));
	ck_assert(!may_have(most + 1));
	g_arena.setup.bytes = most;
	ck_assert_int_eq(session_open(&g_collector, &g_arena, false), 0);
	session_begin(&g_collector, &g_arena);
	ck_assert(!may_have((64ULL << 30) + 1));
	ck_assert(may_have(64ULL << 30));
	session_unlist(&g_collector, &g_arena);
	ck_assert(may_have(most));
}

/* Begins sessions until one is refused; *@why becomes the reason. */
static int begin_many(pid_t pid, const char **why)
{
	int i;

	g_arena.setup.pid = pid;
	for (i = 0; i < 100000; i++) {
		*why = session_refuse(&g_collector, USER, pid, 1 << 20);
		if (*why)
			break;
		ck_assert_int_eq(session_open(&g_collector, &g_arena, false),
				 0);
		session_begin(&g_collector, &g_arena);
		session_unlist(&g_collector, &g_arena);
	}
	return i;
}

TEST(session_burst_is_let_in_and_no_more)
{
	const char *why;
	int count = begin_many(getpid(), &why);

	/* The limit grows while the test runs. */
	ck_assert_int_ge(count, 1000);
	ck_assert_int_lt(count, 100000);
	ck_assert_msg(why && strstr(why, "in a second"), "%s", why);
	/* Simulates a second. */
	users_find(&g_limits.users, USER)->pace.begun_ns -= 1000000000;
	ck_assert_ptr_null(
		session_refuse(&g_collector, USER, getpid(), 1 << 20));
}

TEST(session_burst_leaves_room_for_others)
{
	const char *why;
	int count;

	ck_assert_int_ge(begin_many(getpid(), &why), 1000);
	/* INT_MAX has no session. */
	count = begin_many(INT_MAX, &why);
	ck_assert_int_ge(count, 16);
	ck_assert_int_lt(count, 1000);
}

TEST(session_beyond_max_total_is_refused)
{
	g_limits.max_total = 1000;
	g_limits.finished_bytes = 999;
	ck_assert_ptr_null(session_refuse(&g_collector, USER, PID, 1 << 20));
	g_limits.finished_bytes = 1000;
	assert_refused("--max-total");
}

/* Unread data of 16 MiB each delayed the end of a daemon by seconds. */
TEST(session_too_many_of_one_process_are_refused)
{
	void *open[16];

	ck_assert_int_eq(symbol_cache_new(&g_collector.symbols), 0);
	g_arena.setup.pid = PID;
	for (int i = 0; i < 16; i++) {
		ck_assert_ptr_null(
			session_refuse(&g_collector, USER, PID, 1 << 20));
		ck_assert_int_eq(session_open(&g_collector, &g_arena, true), 0);
		open[i] = g_recording.ended_context;
	}
	assert_refused("of this process");
	ck_assert_ptr_null(
		session_refuse(&g_collector, USER, PID + 1, 1 << 20));
	for (int i = 0; i < 16; i++) {
		g_recording.ended(&g_recording, 0, open[i]);
		ck_assert_ptr_null(
			session_refuse(&g_collector, USER, PID, 1 << 20));
	}
	symbol_cache_put(&g_collector.symbols);
}

TEST(session_has_a_number_and_is_over_when_unlisted)
{
	ck_assert_int_eq(session_open(&g_collector, &g_arena, false), 0);
	session_begin(&g_collector, &g_arena);
	ck_assert_uint_eq(g_arena.session.number, 1);
	g_collector.arenas = &g_arena;
	ck_assert(!session_is_over(&g_collector, 1));
	ck_assert(session_is_over(&g_collector, 2));
	g_collector.arenas = NULL;
	ck_assert(session_is_over(&g_collector, 1));
}

TEST(session_with_own_recording_is_over_when_that_is_finished)
{
	ck_assert_int_eq(symbol_cache_new(&g_collector.symbols), 0);
	ck_assert_int_eq(session_open(&g_collector, &g_arena, true), 0);
	session_begin(&g_collector, &g_arena);
	ck_assert(!session_is_over(&g_collector, 1));
	ck_assert_uint_eq(g_collector.recording_count, 1);
	g_recording.ended(&g_recording, 0, g_recording.ended_context);
	ck_assert(session_is_over(&g_collector, 1));
	ck_assert_uint_eq(g_collector.recording_count, 0);
	symbol_cache_put(&g_collector.symbols);
}

static uint32_t control(void)
{
	return atom_load_acq(&g_head.page.control);
}

TEST(session_control_is_on_once_released)
{
	ck_assert_int_eq(session_open(&g_collector, &g_arena, false), 0);
	session_begin(&g_collector, &g_arena);
	ck_assert_uint_eq(control(), CONTROL_HOLD);
	session_release(&g_arena);
	ck_assert_uint_eq(control(), CONTROL_ON);
}

TEST(session_paused_while_held_starts_paused)
{
	ck_assert_int_eq(session_open(&g_collector, &g_arena, false), 0);
	session_begin(&g_collector, &g_arena);
	session_pause(&g_arena, true);
	ck_assert_uint_eq(control(), CONTROL_HOLD);
	session_release(&g_arena);
	ck_assert_uint_eq(control(), CONTROL_PAUSED);
	session_pause(&g_arena, false);
	ck_assert_uint_eq(control(), CONTROL_ON);
}

TEST(session_pause_is_known_by_time)
{
	uint64_t before = clock_boottime_ns(), from, to;

	ck_assert_int_eq(session_open(&g_collector, &g_arena, false), 0);
	session_begin(&g_collector, &g_arena);
	session_release(&g_arena);
	session_pause(&g_arena, true);
	session_pause(&g_arena, true);
	ck_assert(!pause_at(&g_arena.pauses, before - 1, &from, &to));
	ck_assert(pause_at(&g_arena.pauses, clock_boottime_ns(), &from, &to));
	session_pause(&g_arena, false);
	ck_assert(!pause_at(&g_arena.pauses, clock_boottime_ns(), &from, &to));
}

TEST(session_stopped_stays_off)
{
	ck_assert_int_eq(session_open(&g_collector, &g_arena, false), 0);
	session_begin(&g_collector, &g_arena);
	session_release(&g_arena);
	session_stop(&g_arena);
	session_pause(&g_arena, true);
	session_pause(&g_arena, false);
	ck_assert_uint_eq(control(), CONTROL_OFF);
}
