/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sync - contended calls of locks leave records (sync_victim), and all
 * other calls leave none.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "shared/compiler.h"
#include "shared/record_ext.h"
#include "tests/shim/mini_collector.h"
#include "tests/suite.h"

static struct mini_collector g_mini;
static bool g_awaited; /* descriptors are marked */

/* The records of all threads. */
struct found {
	uint32_t waits, got, timed_out, failed, releases;
	uint32_t kinds[SYNC_KINDS]; /* of releases */
	uint32_t waited[SYNC_KINDS]; /* kinds of waits */
	uint32_t files_ended, numbered; /* records of descriptors */
	uint32_t owned; /* waits that saw an owner */
	/* Each test also joins threads; these do not count above. */
	uint32_t joins, joined, ends;
	uint64_t joins_at; /* address of the last one */
	uint64_t address; /* of the last one */
	bool one; /* all have the same address */
	uint64_t owner, last_owner; /* last ones that are not 0 */
	int32_t waiter, releaser;
	uint32_t nested; /* waits that began in another one */
};

static void take_record(struct found *found, const struct record *cells,
			int32_t tid)
{
	enum record_ext ext = record_ext(cells[0].word);
	uint32_t value = record_ext_value(cells[0].word);

	if (ext != EXT_SYNC_WAITED && value == SYNC_THREAD) {
		found->joins += ext == EXT_SYNC_WAIT;
		found->ends += ext == EXT_SYNC_RELEASE;
		if (ext == EXT_SYNC_WAIT)
			found->joins_at = cells[1].word;
		return;
	}
	if (ext == EXT_SYNC_WAITED && cells[1].word == found->joins_at) {
		found->joined += value == SYNC_GOT;
		return;
	}
	if (found->address && found->one)
		ck_assert_uint_eq(cells[1].word, found->address);
	found->address = cells[1].word;
	switch (ext) {
	case EXT_SYNC_WAIT:
		found->nested += found->waits != found->got + found->timed_out;
		found->waits++;
		found->waited[value]++;
		found->owned += cells[1].clock != 0;
		found->waiter = tid;
		found->owner = cells[1].clock;
		break;
	case EXT_SYNC_WAITED:
		found->got += value == SYNC_GOT;
		found->timed_out += value == SYNC_TIMED_OUT;
		found->failed += value == SYNC_FAILED;
		found->last_owner = cells[1].clock;
		break;
	default:
		found->releases++;
		found->kinds[value]++;
		if (value == SYNC_DESCRIPTOR) {
			found->files_ended += cells[1].clock == 1;
			found->numbered += cells[1].word >> 47;
		}
		found->releaser = tid;
	}
}

static void read_sync_ring(struct found *found, uint32_t index)
{
	const struct slot_shm *slot = mini_slot(&g_mini, index);
	const struct record *ring = mini_ring(&g_mini, index);

	for (uint64_t i = 0; i < slot->head; i++) {
		uint64_t word = ring[i].word;
		uint32_t ext = record_ext(word);

		if (record_kind(word) != RECORD_EXT)
			continue;
		if (ext >= EXT_SYNC_WAIT && ext <= EXT_SYNC_RELEASE) {
			ck_assert_uint_eq(record_ext_cells(word), 1);
			take_record(found, &ring[i], slot->tid);
		}
		i += record_ext_cells(word);
	}
}

/* Adds to @found the records of a program of tests/shim/victims: @argv, whose path
 * this sets. */
static void run_victim(struct found *found, const char *victim, char *argv[],
		       uint32_t asks)
{
	struct wire_reply settings = { .asks = asks,
				       .clock = WIRE_CLOCK_BOOTTIME };
	char path[64];
	int status;
	pid_t pid;

	snprintf(path, sizeof(path), "tests/shim/victims/%s", victim);
	argv[0] = (char *)mini_build_path(path);
	mini_collector_start(&g_mini);
	g_mini.awaited = g_awaited;
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(!status, "%s: %d", argv[1], status);
	for (uint32_t i = 0; i < 8; i++)
		read_sync_ring(found, i);
}

static struct found run_sync(const char *test, uint32_t asks)
{
	char *argv[] = { NULL, (char *)test, NULL };
	struct found found = { .one = strcmp(test, "condition") != 0 &&
				      strcmp(test, "c11") != 0 &&
				      strcmp(test, "once_left") != 0 &&
				      strcmp(test, "writes") != 0 &&
				      strcmp(test, "cancelled") != 0 };

	run_victim(&found, "sync_victim", argv, asks);
	return found;
}

static const char *const g_contended[] = { "normal", "adaptive", "recursive",
					   "robust", "inherit" };

static void stop_collector(void)
{
	mini_collector_stop(&g_mini);
}

FIXTURE(NULL, stop_collector);

TEST(sync_contended_lock_is_recorded, EACH(0, 5))
{
	struct found found = run_sync(g_contended[_i], WIRE_ASK_SYNC);

	ck_assert_uint_eq(found.waits, 1);
	ck_assert_uint_eq(found.got, 1);
	/* The waiter's own unlock may see the mark of waiters still. */
	ck_assert_uint_ge(found.releases, 1);
	ck_assert_uint_le(found.releases, 2);
	ck_assert_uint_ne(found.address, 0);
	ck_assert_uint_ne(found.owner, 0);
	ck_assert_int_ne((int)found.owner, found.waiter);
}

TEST(sync_timeout_is_recorded_with_the_owner)
{
	struct found found = run_sync("timed", WIRE_ASK_SYNC);

	ck_assert_uint_eq(found.waits, 2);
	ck_assert_uint_eq(found.timed_out, 2);
	ck_assert_uint_ne(found.owner, 0);
	ck_assert_uint_eq(found.owner, found.last_owner);
}

/* Without it the collector would take later waits for parts of this one. */
TEST(sync_end_of_a_wait_is_recorded_in_a_pause)
{
	struct found found = run_sync("paused", WIRE_ASK_SYNC);

	ck_assert_uint_eq(found.waits, 1);
	ck_assert_uint_eq(found.got, 1);
	ck_assert_uint_eq(found.releases, 0);
}

static const char *const g_uncontended[] = { "alone", "ceiling",
					     "rwlock_alone" };

TEST(sync_uncontended_calls_are_not_recorded, EACH(0, 3))
{
	struct found found = run_sync(g_uncontended[_i], WIRE_ASK_SYNC);

	ck_assert_uint_eq(found.waits + found.releases, 0);
}

/* A condition has two objects, so addresses differ. */
TEST(sync_signal_and_timeouts_of_a_condition_are_recorded)
{
	struct found found = run_sync("condition", WIRE_ASK_SYNC);

	ck_assert_uint_ge(found.waits, 3);
	ck_assert_uint_eq(found.waits, found.got + found.timed_out);
	ck_assert_uint_eq(found.timed_out, 2);
	ck_assert_uint_eq(found.kinds[SYNC_CONDITION], 1);
}

TEST(sync_cancelled_wait_cleans_up)
{
	struct found found = run_sync("cancelled", WIRE_ASK_SYNC);

	ck_assert_uint_eq(found.waits, found.got + 1);
}

TEST(sync_post_and_timeouts_of_a_semaphore_are_recorded)
{
	struct found found = run_sync("semaphore", WIRE_ASK_SYNC);

	ck_assert_uint_eq(found.waits, 3);
	ck_assert_uint_eq(found.got, 1);
	ck_assert_uint_eq(found.timed_out, 2);
	ck_assert_uint_eq(found.kinds[SYNC_SEMAPHORE], 1);
}

TEST(sync_wait_for_a_writer_and_for_a_reader)
{
	struct found found = run_sync("rwlock", WIRE_ASK_SYNC);

	ck_assert_uint_eq(found.waited[SYNC_READ], 3);
	ck_assert_uint_eq(found.waited[SYNC_WRITE], 4);
	ck_assert_uint_eq(found.got, 3);
	ck_assert_uint_eq(found.timed_out, 4);
	/* The last one's own unlock may see a mark still. */
	ck_assert_uint_ge(found.kinds[SYNC_WRITE], 2);
	ck_assert_uint_le(found.kinds[SYNC_WRITE], 3);
	ck_assert_uint_eq(found.kinds[SYNC_READ], 1);
	/* The last one waits for readers. */
	ck_assert_uint_eq(found.owned, 6);
}

struct phase_test {
	const char *name;
	enum sync_kind kind;
	uint32_t waits;
};

static const struct phase_test g_phases[] = {
	{ "barrier", SYNC_BARRIER, 1 },
	{ "once", SYNC_ONCE, 1 },
	{ "futex", SYNC_FUTEX, 3 },
	{ "handler", SYNC_SEMAPHORE, 1 },
};

TEST(sync_point_that_others_reach_is_recorded, EACH(0, ARRAY_SIZE(g_phases)))
{
	const struct phase_test *phase = &g_phases[_i];
	struct found found = run_sync(phase->name, WIRE_ASK_SYNC);

	ck_assert_uint_eq(found.waits, phase->waits);
	ck_assert_uint_eq(found.waited[phase->kind], phase->waits);
	ck_assert_uint_eq(found.got, 1);
	ck_assert_uint_eq(found.releases, 1);
	ck_assert_uint_eq(found.kinds[phase->kind], 1);
	ck_assert_int_ne(found.waiter, found.releaser);
}

/* The first thread left it by pthread_exit(), which stands for an exception. */
TEST(sync_wait_ends_where_the_waiter_runs_the_routine_itself)
{
	struct found found = run_sync("once_left", WIRE_ASK_SYNC);

	ck_assert_uint_eq(found.waited[SYNC_ONCE], 1);
	ck_assert_uint_eq(found.waits, 2);
	ck_assert_uint_eq(found.nested, 0);
	ck_assert_uint_eq(found.got, 1);
	/* pthread_exit() opens libgcc, which has a routine as well. */
	ck_assert_uint_ge(found.kinds[SYNC_ONCE], 1);
	ck_assert_int_eq(found.waiter, found.releaser);
}

TEST(sync_functions_of_c11_are_recorded)
{
	struct found found = run_sync("c11", WIRE_ASK_SYNC);

	ck_assert_uint_ge(found.waited[SYNC_MUTEX], 1);
	ck_assert_uint_eq(found.waited[SYNC_CONDITION], 2);
	ck_assert_uint_eq(found.timed_out, 2);
	ck_assert_uint_eq(found.kinds[SYNC_CONDITION], 1);
	ck_assert_uint_ge(found.kinds[SYNC_MUTEX], 1);
	ck_assert_uint_eq(found.joins, 1);
	ck_assert_uint_eq(found.joined, 1);
}

/* The thread has ended before the third kind of call. */
TEST(sync_joins_and_ends_of_threads_are_recorded)
{
	struct found found = run_sync("join", WIRE_ASK_SYNC);

	ck_assert_uint_eq(found.joins, 3);
	ck_assert_uint_eq(found.joined, 1);
	ck_assert_uint_eq(found.ends, 1);
	ck_assert_uint_eq(found.waits + found.releases, 0);
}

TEST(sync_writes_to_awaited_descriptors_are_recorded)
{
	struct found found;

	g_awaited = true;
	found = run_sync("writes", WIRE_ASK_SYNC);
	ck_assert_uint_eq(found.kinds[SYNC_DESCRIPTOR], 10);
	ck_assert_uint_eq(found.files_ended, 2);
	ck_assert_uint_eq(found.numbered, 1);
	g_awaited = false;
	found = run_sync("writes", WIRE_ASK_SYNC);
	ck_assert_uint_eq(found.releases, 0);
	g_awaited = true;
	found = run_sync("writes", 0);
	ck_assert_uint_eq(found.releases, 0);
}

struct cancel_test {
	const char *name;
	enum sync_kind kind;
	uint32_t got; /* 1: the function is no cancellation point */
};

static const struct cancel_test g_cancels[] = {
	{ "cond_wait", SYNC_CONDITION, 0 },
	{ "cond_timedwait", SYNC_CONDITION, 0 },
	{ "cond_clockwait", SYNC_CONDITION, 0 },
	{ "cnd_wait", SYNC_CONDITION, 0 },
	{ "cnd_timedwait", SYNC_CONDITION, 0 },
	{ "sem_wait", SYNC_SEMAPHORE, 0 },
	{ "sem_timedwait", SYNC_SEMAPHORE, 0 },
	{ "sem_clockwait", SYNC_SEMAPHORE, 0 },
	{ "join", SYNC_THREAD, 0 },
	{ "timedjoin", SYNC_THREAD, 0 },
	{ "clockjoin", SYNC_THREAD, 0 },
	{ "thrd_join", SYNC_THREAD, 0 },
	{ "rdlock", SYNC_READ, 1 },
	{ "wrlock", SYNC_WRITE, 1 },
	{ "mutex", SYNC_MUTEX, 1 },
	{ "mtx", SYNC_MUTEX, 1 },
	{ "barrier", SYNC_BARRIER, 1 },
	{ "futex", SYNC_FUTEX, 1 },
	/* The thread waits in the routine, for a semaphore; another thread
	 * waits for the routine, and runs it then. */
	{ "once", SYNC_ONCE, 1 },
};

TEST(sync_cancelled_thread_runs_its_destructors, EACH(0, ARRAY_SIZE(g_cancels)))
{
	const struct cancel_test *test = &g_cancels[_i];
	char *argv[] = { NULL, (char *)test->name, NULL };
	struct found found = { .one = false };

	run_victim(&found, "cancel_cxx_victim", argv, WIRE_ASK_SYNC);
	ck_assert_uint_eq(found.joins - found.joined,
			  test->kind == SYNC_THREAD);
	if (test->kind != SYNC_THREAD)
		ck_assert_uint_eq(found.waited[test->kind], 1);
	ck_assert_uint_eq(found.got, test->got);
	ck_assert_uint_eq(found.timed_out + found.failed, 0);
}

/* The first twelve are cancellation points. */
TEST(sync_thread_cancelled_before_its_wait_runs_its_destructors, EACH(0, 12))
{
	char *argv[] = { NULL, (char *)g_cancels[_i].name, "pending", NULL };
	struct found found = { .one = false };

	run_victim(&found, "cancel_cxx_victim", argv, WIRE_ASK_SYNC);
	ck_assert_uint_eq(found.got + found.timed_out + found.failed, 0);
}

TEST(sync_old_version_of_conditions_reaches_the_old_functions)
{
	run_sync("old_version", WIRE_ASK_SYNC);
}

TEST(sync_makes_no_system_call_under_a_seccomp_filter)
{
	struct found found = run_sync("filtered", WIRE_ASK_SYNC);

	ck_assert_uint_eq(found.waits + found.releases, 0);
}

TEST(sync_is_not_recorded_unless_requested, EACH(0, 5))
{
	struct found found = run_sync(g_contended[_i], 0);

	ck_assert_uint_eq(found.waits + found.releases, 0);
}

static void begin_suite(void)
{
	setenv("PERFREC_QUIET", "1", 1);
}

SUITE(begin_suite, NULL);
