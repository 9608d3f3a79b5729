/* SPDX-License-Identifier: Apache-2.0
 *
 * test_thread_locks - records of contended calls become waits with a holder and
 * a waker. Records that the shim never writes are refused. Records that prove
 * nothing name no thread.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/jobs.h"
#include "collector/base/varint.h"
#include "collector/drain/process_locks.h"
#include "collector/drain/thread_locks.h"
#include "collector/drain/thread_waits.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"
#include "tests/suite.h"
#include "tests/unit/notes_rig.h"

#define LOCK 0x4000u
#define OTHER 0x5000u
#define MS 1000000u

static struct rig *g_rig;
static uint8_t g_trace[1 << 16];
static size_t g_trace_bytes;

static void begin_rig(void)
{
	g_rig = rig_new();
	g_rig->recording.refs = 1;
	for (int i = 0; i < RIG_THREADS; i++) {
		struct thread *thread = &g_rig->thread[i];

		g_rig->slot[i].tid = 100 + i;
		thread->entry.tid = 100 + i;
		thread->fibers.now_ns = clock_boottime_ns();
		snprintf(thread->entry.name, sizeof(thread->entry.name),
			 "worker-%d", i);
	}
}

/* Ends all, and reads the trace. */
static void end_rig(void)
{
	char path[96];
	FILE *file;

	for (int i = 0; i < RIG_THREADS; i++) {
		thread_locks_finish(&g_rig->thread[i]);
		thread_waits_finish(&g_rig->thread[i]);
	}
	process_locks_finish(&g_rig->process);
	rig_end(g_rig);
	snprintf(path, sizeof(path), "%s/" TRACE_NAME, g_rig->dir);
	file = fopen(path, "rb");
	ck_assert_ptr_nonnull(file);
	g_trace_bytes = fread(g_trace, 1, sizeof(g_trace), file);
	fclose(file);
	rig_free(g_rig);
}

static bool trace_has(const char *text)
{
	return memmem(g_trace, g_trace_bytes, text, strlen(text));
}

static int count_in_trace(const char *text)
{
	const uint8_t *at = g_trace, *end = g_trace + g_trace_bytes;
	int count = 0;

	while ((at = memmem(at, (size_t)(end - at), text, strlen(text)))) {
		count++;
		at += strlen(text);
	}
	return count;
}

static int put_at(int thread, enum record_ext ext, uint32_t value, uint64_t ns,
		  uint64_t object, uint64_t more)
{
	const struct record cells[2] = {
		{ record_ext_word(ext, 1, value, 0), g_rig->start_ns + ns },
		{ object, more },
	};

	return thread_locks_record(&g_rig->thread[thread],
				   g_rig->thread[thread].replay, cells, 2);
}

static int put(int thread, enum record_ext ext, uint32_t value, uint64_t ms,
	       uint64_t object, uint64_t more)
{
	return put_at(thread, ext, value, ms * MS, object, more);
}

/* Hands all records of @thread over. */
static void consume(int thread)
{
	thread_locks_flush(&g_rig->thread[thread]);
	order_release_all(
		process_locks_order(process_locks_of(&g_rig->process)));
}

FIXTURE(begin_rig, NULL);

TEST(thread_locks_wait_has_holder_and_waker)
{
	ck_assert_int_eq(put(1, EXT_SYNC_WAIT, SYNC_MUTEX, 10, LOCK, 100), 0);
	ck_assert_int_eq(put(0, EXT_SYNC_RELEASE, SYNC_MUTEX, 15, LOCK, 0), 0);
	ck_assert_int_eq(put(1, EXT_SYNC_WAITED, SYNC_GOT, 16, LOCK, 0), 0);
	end_rig();
	ck_assert(trace_has("held_by"));
	ck_assert(trace_has("woken_by"));
	ck_assert(trace_has("holds mutex"));
	ck_assert(trace_has("worker-0"));
	ck_assert(!trace_has("unknown"));
}

/* A call begins or ends in @thread. */
static void call_at(int thread, enum record_kind kind, uint64_t ms)
{
	const struct record cell = { record_word(kind, 0x1000, 0x800),
				     g_rig->start_ns + ms * MS };

	ck_assert_int_eq(rig_run(g_rig, thread, &cell, 1), 0);
}

/* The kernel shows that @thread slept in futex(). */
static void sleep_in_futex(int thread, uint64_t from_ms, uint64_t to_ms,
			   const char *object)
{
	const struct thread_wait wait = {
		.from_ns = g_rig->start_ns + from_ms * MS,
		.to_ns = g_rig->start_ns + to_ms * MS,
		.object = object,
		.call = SYS_futex + 1,
	};

	ck_assert(thread_locks_tell(&g_rig->thread[thread], &wait));
}

/* It is in no file. Later waits, by other functions, are for the same lock. */
TEST(thread_locks_lock_has_the_functions_of_its_first_wait)
{
	static const char text[] =
		"mutex first waited for in site 4096 (0x4000)";

	call_at(1, RECORD_BEGIN, 5);
	put(1, EXT_SYNC_WAIT, SYNC_MUTEX, 10, LOCK, 100);
	put(0, EXT_SYNC_RELEASE, SYNC_MUTEX, 15, LOCK, 0);
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 16, LOCK, 0);
	put(2, EXT_SYNC_WAIT, SYNC_MUTEX, 17, LOCK, 101);
	put(1, EXT_SYNC_RELEASE, SYNC_MUTEX, 18, LOCK, 0);
	put(2, EXT_SYNC_WAITED, SYNC_GOT, 19, LOCK, 0);
	put(2, EXT_SYNC_WAIT, SYNC_MUTEX, 20, OTHER, 101);
	put(1, EXT_SYNC_RELEASE, SYNC_MUTEX, 21, OTHER, 0);
	put(2, EXT_SYNC_WAITED, SYNC_GOT, 22, OTHER, 0);
	end_rig();
	ck_assert(trace_has(text));
	ck_assert_int_gt(count_in_trace(text), 2);
	ck_assert_int_eq(count_in_trace(text),
			 count_in_trace("first waited for"));
	ck_assert(trace_has("[mutex 0x5000]"));
}

/* A thread that is cancelled or jumps in a call writes no WAITED. Its next
 * sleeps are other waits. */
TEST(thread_locks_wait_is_over_when_its_call_or_thread_is, EACH(0, 2))
{
	call_at(1, RECORD_BEGIN, 5);
	g_rig->thread[1].cpu = (void *)g_rig; /* has switches */
	put(1, EXT_SYNC_WAIT, SYNC_SEMAPHORE, 10, LOCK, 0);
	sleep_in_futex(1, 11, 12, "[semaphore left]");
	if (_i)
		call_at(1, RECORD_END, 13);
	else
		put(1, EXT_SYNC_RELEASE, SYNC_THREAD, 13, OTHER, 0);
	sleep_in_futex(1, 14, 15, "[futex later]");
	g_rig->thread[1].cpu = NULL;
	end_rig();
	ck_assert(trace_has("[semaphore left]"));
	ck_assert(trace_has("failed"));
	ck_assert(trace_has("[futex later]"));
}

/* Waits of a thread do not overlap. The disk that ended the page fault, here the
 * last stretch, did not end the wait. */
TEST(thread_locks_page_fault_in_a_wait_is_a_part_of_it)
{
	struct thread_wait sleep = { .call = SYS_futex + 1,
				     .object = "[futex x]" };
	struct thread_wait fault = { .object = "[page fault]" };

	g_rig->thread[1].cpu = (void *)g_rig; /* has switches */
	sleep.from_ns = g_rig->start_ns + 11 * MS;
	sleep.to_ns = g_rig->start_ns + 16 * MS;
	sleep.waker = (struct thread_waker){ "worker-0", sleep.to_ns, 100 };
	fault.from_ns = g_rig->start_ns + 17 * MS;
	fault.to_ns = g_rig->start_ns + 18 * MS;
	fault.waker = (struct thread_waker){ "outside", fault.to_ns, 0 };
	put(1, EXT_SYNC_WAIT, SYNC_BARRIER, 10, LOCK, 0);
	ck_assert(thread_locks_tell(&g_rig->thread[1], &sleep));
	ck_assert(thread_locks_tell(&g_rig->thread[1], &fault));
	put(0, EXT_SYNC_RELEASE, SYNC_BARRIER, 15, LOCK, 0);
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 19, LOCK, 0);
	g_rig->thread[1].cpu = NULL;
	end_rig();
	ck_assert(trace_has("barrier"));
	ck_assert(!trace_has("[page fault]"));
	ck_assert(trace_has("woken_by_tid"));
	ck_assert(!trace_has("outside"));
}

static bool trace_has_time(uint64_t ns)
{
	uint8_t text[16];

	return memmem(g_trace, g_trace_bytes, text,
		      (size_t)(varint_put(text, ns) - text));
}

/* Its first 64 sleeps are kept, and the last release ended a later one. The wait
 * lasts until the end of its last sleep. */
TEST(thread_locks_wait_with_many_sleeps_proves_no_waker, EACH(0, 2))
{
	const uint64_t sleeps = 70, end_ms = 12 + 2 * (sleeps - 1);
	uint64_t end_ns;

	end_ns = g_rig->start_ns + end_ms * MS;
	g_rig->thread[1].cpu = (void *)g_rig; /* has switches */
	put(1, EXT_SYNC_WAIT, SYNC_MUTEX, 10, LOCK, 100);
	for (uint64_t i = 0; i < sleeps; i++) {
		sleep_in_futex(1, 11 + 2 * i, 12 + 2 * i, "[mutex many]");
		put(i < 65 ? 0 : 2, EXT_SYNC_RELEASE, SYNC_MUTEX, 12 + 2 * i,
		    LOCK, 0);
	}
	if (_i)
		put(1, EXT_SYNC_WAITED, SYNC_GOT, end_ms, LOCK, 0);
	else
		put(1, EXT_SYNC_RELEASE, SYNC_THREAD, end_ms + 1, OTHER, 0);
	g_rig->thread[1].cpu = NULL;
	end_rig();
	ck_assert(trace_has("unknown"));
	ck_assert(!trace_has("_by_tid"));
	ck_assert(trace_has_time(end_ns));
}

/* A handler's calls are inside of the call that waits. */
TEST(thread_locks_wait_goes_on_in_a_signal_handler)
{
	call_at(1, RECORD_BEGIN, 5);
	put(1, EXT_SYNC_WAIT, SYNC_SEMAPHORE, 10, LOCK, 0);
	call_at(1, RECORD_BEGIN, 11);
	sleep_in_futex(1, 12, 13, "[semaphore one]");
	call_at(1, RECORD_END, 14);
	put(0, EXT_SYNC_RELEASE, SYNC_SEMAPHORE, 15, LOCK, 0);
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 16, LOCK, 0);
	end_rig();
	ck_assert(trace_has("worker-0"));
	ck_assert(!trace_has("failed"));
}

/* They have no ids; the last one woke the writer. */
TEST(thread_locks_readers_hold_a_lock)
{
	put(1, EXT_SYNC_WAIT, SYNC_WRITE, 10, LOCK, 0);
	put(0, EXT_SYNC_RELEASE, SYNC_READ, 15, LOCK, 0);
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 16, LOCK, 0);
	end_rig();
	ck_assert(trace_has("readers hold rwlock"));
	ck_assert(!trace_has("held_by_tid"));
	ck_assert(trace_has("worker-0"));
	ck_assert(!trace_has("unknown"));
}

/* worker-2 waited for the lock, and has left it without a record: worker-3 may have
 * written since, for 8 ms of 10. */
TEST(thread_locks_another_reader_proves_nothing)
{
	put(1, EXT_SYNC_WAIT, SYNC_WRITE, 10, LOCK, 100);
	put(2, EXT_SYNC_WAIT, SYNC_READ, 10, LOCK, 100);
	put(0, EXT_SYNC_RELEASE, SYNC_WRITE, 11, LOCK, 0);
	put(2, EXT_SYNC_WAITED, SYNC_GOT, 12, LOCK, 0);
	put(0, EXT_SYNC_RELEASE, SYNC_READ, 20, LOCK, 0);
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 20, LOCK, 0);
	end_rig();
	ck_assert(trace_has("unknown"));
}

/* 10 ms of the writer, then 3 ms of readers. */
TEST(thread_locks_writer_holds_longer_than_readers)
{
	put(1, EXT_SYNC_WAIT, SYNC_WRITE, 10, LOCK, 100);
	put(2, EXT_SYNC_WAIT, SYNC_READ, 11, LOCK, 100);
	put(0, EXT_SYNC_RELEASE, SYNC_WRITE, 20, LOCK, 0);
	put(2, EXT_SYNC_WAITED, SYNC_GOT, 20, LOCK, 0);
	put(2, EXT_SYNC_RELEASE, SYNC_READ, 23, LOCK, 0);
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 23, LOCK, 0);
	end_rig();
	ck_assert(trace_has("held_by_tid"));
	ck_assert(trace_has("holds rwlock"));
	ck_assert(trace_has("readers hold rwlock"));
	ck_assert(!trace_has("unknown"));
}

/* The thread before it at the same address was another one. */
TEST(thread_locks_join_waits_for_the_end_of_its_thread)
{
	put(2, EXT_SYNC_RELEASE, SYNC_THREAD, 12, LOCK, 0);
	put(1, EXT_SYNC_WAIT, SYNC_THREAD, 10, LOCK, 100);
	put(0, EXT_SYNC_RELEASE, SYNC_THREAD, 15, LOCK, 0);
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 16, LOCK, 0);
	end_rig();
	ck_assert(trace_has("[join thread 100]"));
	ck_assert(trace_has("worker-0"));
	ck_assert(!trace_has("worker-2"));
	ck_assert(!trace_has("held_by"));
}

/* Its stamp is late, as that of a thread that was preempted after the call. */
TEST(thread_locks_release_has_the_clock_before_its_call)
{
	put(1, EXT_SYNC_WAIT, SYNC_FUTEX, 10, LOCK, 0);
	put(0, EXT_SYNC_RELEASE, SYNC_FUTEX, 17, LOCK,
	    g_rig->start_ns + 15 * MS);
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 16, LOCK, 0);
	end_rig();
	ck_assert(trace_has("worker-0"));
	ck_assert(trace_has("wakes futex"));
}

struct unproved {
	const char *what;
	uint32_t result, release_ms; /* 0: none */
	uint64_t lock, owner;
};

static const struct unproved g_unproved[] = {
	{ "without a release", SYNC_GOT, 0, LOCK, 100 },
	{ "of another lock", SYNC_GOT, 15, OTHER, 100 },
	{ "after the wait", SYNC_GOT, 17, LOCK, 100 },
	{ "long before", SYNC_GOT, 5, LOCK, 100 },
	{ "timed out, foreign owner", SYNC_TIMED_OUT, 0, LOCK, 4711 },
};

TEST(thread_locks_unproved_names_are_unknown, EACH(0, ARRAY_SIZE(g_unproved)))
{
	const struct unproved *test = &g_unproved[_i];

	put(1, EXT_SYNC_WAIT, SYNC_MUTEX, 10, LOCK, test->owner);
	if (test->release_ms)
		put(0, EXT_SYNC_RELEASE, SYNC_MUTEX, test->release_ms,
		    test->lock, 0);
	put(1, EXT_SYNC_WAITED, test->result, 16, LOCK, test->owner);
	end_rig();
	ck_assert_msg(trace_has("unknown"), "%s", test->what);
	ck_assert_msg(!trace_has("worker-0"), "%s", test->what);
}

/* An item that comes late must not shorten the unknown time: of 8 ms only 3 are
 * known to be of worker-0. */
TEST(thread_locks_late_releases_are_sorted)
{
	static const uint64_t release_ms[] = { 13, 18, 15 };

	put(1, EXT_SYNC_WAIT, SYNC_MUTEX, 10, LOCK, 100);
	for (size_t i = 0; i < ARRAY_SIZE(release_ms); i++) {
		put(0, EXT_SYNC_RELEASE, SYNC_MUTEX, release_ms[i], LOCK, 0);
		consume(0);
	}
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 19, LOCK, 0);
	end_rig();
	ck_assert(trace_has("unknown"));
}

/* The first 128 of 257 releases are forgotten: worker-0 had the lock for most of
 * the time. */
TEST(thread_locks_forgotten_releases_are_unknown)
{
	uint64_t ns = 10 * MS;

	put(1, EXT_SYNC_WAIT, SYNC_MUTEX, 10, LOCK, 100);
	for (int i = 0; i < 128; i++)
		put_at(0, EXT_SYNC_RELEASE, SYNC_MUTEX, ns += MS, LOCK, 0);
	for (int i = 0; i < 129; i++)
		put_at(2, EXT_SYNC_RELEASE, SYNC_MUTEX, ns += 1, LOCK, 0);
	put_at(1, EXT_SYNC_WAITED, SYNC_GOT, ns + MS, LOCK, 0);
	consume(0);
	consume(2);
	end_rig();
	ck_assert(trace_has("unknown"));
	ck_assert(!trace_has("_by_tid"));
}

/* With one lock more than there is room for, all are forgotten. */
TEST(thread_locks_forgotten_locks_are_unknown)
{
	const uint32_t locks = 2048;

	put(1, EXT_SYNC_WAIT, SYNC_MUTEX, 10, LOCK, 100);
	put(0, EXT_SYNC_RELEASE, SYNC_MUTEX, 900, LOCK, 0);
	for (uint32_t i = 0; i < locks; i++)
		put_at(0, EXT_SYNC_RELEASE, SYNC_MUTEX, 910 * MS + i, OTHER + i,
		       0);
	put(2, EXT_SYNC_RELEASE, SYNC_MUTEX, 911, LOCK, 0);
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 912, LOCK, 0);
	end_rig();
	ck_assert(trace_has("unknown"));
	ck_assert(!trace_has("_by_tid"));
}

TEST(thread_locks_owner_at_a_timeout_held_the_lock)
{
	/* Only threads with records are known. */
	put(0, EXT_SYNC_RELEASE, SYNC_MUTEX, 1, OTHER, 0);
	put(1, EXT_SYNC_WAIT, SYNC_MUTEX, 10, LOCK, 100);
	put(1, EXT_SYNC_WAITED, SYNC_TIMED_OUT, 16, LOCK, 100);
	end_rig();
	ck_assert(trace_has("worker-0"));
	ck_assert(trace_has("timed out"));
	ck_assert(trace_has("outside"));
}

TEST(thread_locks_wait_may_end_with_the_process)
{
	uint64_t end_ns;

	end_ns = g_rig->start_ns + 40 * MS;
	put(0, EXT_SYNC_WAIT, SYNC_CONDITION, 1, LOCK, 0);
	put(0, EXT_SYNC_WAITED, SYNC_GOT, 2, LOCK, 0);
	put(1, EXT_SYNC_WAIT, SYNC_CONDITION, 10, OTHER, 0);
	for (int i = 0; i < 3; i++)
		thread_locks_end_wait(&g_rig->thread[i], end_ns);
	end_rig();
	ck_assert(trace_has("end of process"));
	ck_assert(trace_has("condition 0x5000"));
}

TEST(thread_locks_short_waits_are_not_written)
{
	put(1, EXT_SYNC_WAIT, SYNC_MUTEX, 10, LOCK, 0);
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 10, LOCK, 0);
	end_rig();
	ck_assert(!trace_has("held_by"));
}

/* Returns how many events of the trace have @tag with the flow id @id. */
static int count_flows(uint32_t tag, const uint8_t id[8])
{
	uint8_t wanted[16];
	const size_t head = (size_t)(varint_put(wanted, tag) - wanted);
	const uint8_t *at = g_trace;
	int count = 0;

	memcpy(wanted + head, id, 8);
	while ((at = memmem(at, g_trace_bytes - (size_t)(at - g_trace), wanted,
			    head + 8))) {
		at++;
		count++;
	}
	return count;
}

TEST(thread_locks_a_broadcast_is_one_instant)
{
	uint8_t tag[8];
	const size_t head =
		(size_t)(varint_put(tag, TAG_TRACK_EVENT_FLOW_IDS) - tag);
	const uint8_t *start;

	put(1, EXT_SYNC_WAIT, SYNC_CONDITION, 10, LOCK, 0);
	put(2, EXT_SYNC_WAIT, SYNC_CONDITION, 10, LOCK, 0);
	put(0, EXT_SYNC_RELEASE, SYNC_CONDITION, 15, LOCK, 0);
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 16, LOCK, 0);
	put(2, EXT_SYNC_WAITED, SYNC_GOT, 17, LOCK, 0);
	end_rig();
	start = memmem(g_trace, g_trace_bytes, tag, head);
	ck_assert_ptr_nonnull(start);
	ck_assert_int_eq(count_flows(TAG_TRACK_EVENT_FLOW_IDS, start + head),
			 1);
	ck_assert_int_eq(
		count_flows(TAG_TRACK_EVENT_TERMINATING_FLOW_IDS, start + head),
		2);
}

static int g_busy[2];

/* Keeps the jobs thread busy until the other end of the pipe is closed. */
static void be_busy(struct job *job)
{
	char byte;

	(void)job;
	ck_assert_int_eq(read(g_busy[0], &byte, 1), 0);
}

TEST(thread_locks_waits_without_room_are_counted)
{
	const uint32_t room = 65536, more = 10;
	struct job busy = { .run = be_busy };
	struct jobs **jobs;
	uint64_t ns = 0;

	jobs = &g_rig->recording.setup.jobs;
	ck_assert_int_eq(pipe(g_busy), 0);
	ck_assert_int_eq(jobs_new("test", NULL, jobs), 0);
	jobs_post(*jobs, &busy);
	for (uint32_t i = 0; i < room + more; i++) {
		put_at(1, EXT_SYNC_WAIT, SYNC_CONDITION, ns, LOCK, 0);
		put_at(1, EXT_SYNC_WAITED, SYNC_GOT, ns += 10001, LOCK, 0);
	}
	consume(1);
	ck_assert_uint_eq(trace_file_left_out(g_rig->recording.setup.trace),
			  more);
	close(g_busy[1]);
	jobs_free(jobs);
	close(g_busy[0]);
	end_rig();
}

TEST(thread_locks_waits_without_budget_are_counted)
{
	uint64_t left;

	put(0, EXT_SYNC_RELEASE, SYNC_MUTEX, 1, LOCK, 0);
	put(1, EXT_SYNC_WAIT, SYNC_MUTEX, 10, LOCK, 100);
	left = g_rig->recording.budget.left;
	g_rig->recording.budget.left = 0;
	consume(0);
	put(1, EXT_SYNC_WAITED, SYNC_GOT, 16, LOCK, 0);
	ck_assert_uint_eq(trace_file_left_out(g_rig->recording.setup.trace), 1);
	g_rig->recording.budget.left = left;
	end_rig();
	ck_assert(!trace_has("held_by"));
}

TEST(thread_locks_malformed_records_are_refused)
{
	const struct record cells[3] = {
		{ record_ext_word(EXT_SYNC_WAIT, 2, SYNC_MUTEX, 0), 1 }
	};

	ck_assert_int_eq(put(0, EXT_SYNC_WAIT, SYNC_KINDS, 1, LOCK, 0),
			 -EBADMSG);
	ck_assert_int_eq(put(0, EXT_SYNC_WAIT, 0, 1, LOCK, 0), -EBADMSG);
	ck_assert_int_eq(put(0, EXT_SYNC_RELEASE, EXT_VALUE_MAX, 1, LOCK, 0),
			 -EBADMSG);
	ck_assert_int_eq(put(0, EXT_SYNC_WAITED, SYNC_RESULTS, 1, LOCK, 0),
			 -EBADMSG);
	ck_assert_int_eq(put(0, EXT_SYNC_WAIT, SYNC_MUTEX, 1, 1ULL << 48, 0),
			 -EBADMSG);
	ck_assert_int_eq(thread_locks_record(&g_rig->thread[0],
					     g_rig->thread[0].replay, cells, 3),
			 -EBADMSG);
	/* Odd, but possible: after a jump out of a wait. */
	ck_assert_int_eq(put(0, EXT_SYNC_WAITED, SYNC_GOT, 1, LOCK, 0), 0);
	ck_assert_int_eq(put(0, EXT_SYNC_WAIT, SYNC_MUTEX, 2, LOCK, 0), 0);
	ck_assert_int_eq(put(0, EXT_SYNC_WAITED, SYNC_GOT, 3, OTHER, 0), 0);
	ck_assert_int_eq(put(0, EXT_SYNC_WAIT, SYNC_MUTEX, 3, OTHER, 0), 0);
	end_rig();
}
