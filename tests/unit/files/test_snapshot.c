/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots of a recording with simulated threads. The test plays the main
 * thread and the drain worker; the jobs thread is real.
 */
#include "collector/files/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/files/snapshot_inner.h"
#include "collector/files/thread_stacks.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/profile/stack_profile.h"
#include "collector/record/arena_inner.h"
#include "collector/record/collector.h"
#include "collector/record/process_inner.h"
#include "collector/record/recording.h"
#include "collector/record/recording_inner.h"
#include "collector/record/thread_state.h"
#include "collector/trace/trace_file.h"
#include "proto/profile.pb-c.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define THREADS 2
/* Addresses without a module, so these are their names. */
#define F 0x1000u
#define F_NAME "0x1000"
#define G 0x2000u
#define G_NAME "0x2000"

static struct {
	struct collect_options options;
	struct collector collector;
	struct recording *recording;
	struct arena arena;
	struct process process;
	struct process_entry entry;
	struct thread thread[THREADS];
	uint64_t clock[THREADS];
	struct trace_block block; /* blocks are not written */
	Perftools__Profiles__Profile *profile;
} g;

/* --- simulated threads --------------------------------------------------- */

static struct trace_block *take_block(void *context)
{
	(void)context;
	return &g.block;
}

static void give_block(void *context, struct trace_block *block)
{
	(void)context;
	(void)block;
}

static bool excludes_nothing(void *context, uint64_t function)
{
	(void)context;
	(void)function;
	return false;
}

static void begin_thread(int i)
{
	static const struct replay_sink sink = {
		.take = take_block,
		.give = give_block,
		.excludes = excludes_nothing,
	};
	static const struct fibers_sink fibers_sink = { 0 };
	struct thread *thread = &g.thread[i];

	g.clock[i] = 0;
	*thread = (struct thread){ .process = &g.process,
				   .setup = process_setup(&g.process),
				   .entry.tid = 100 + i };
	snprintf(thread->entry.name, sizeof(thread->entry.name), "thread %d",
		 i);
	ck_assert_int_eq(replay_new(&sink, 2 + (uint32_t)i,
				    g.recording->setup.start_ns, NULL, NULL,
				    recording_setup(g.recording)->budget,
				    &thread->replay),
			 0);
	ck_assert_int_eq(
		fibers_init(&thread->fibers, &fibers_sink, thread->replay), 0);
}

/* 10 ns after the thread's last record. */
static void record(int i, enum record_kind kind, uint64_t payload)
{
	const uint64_t clock = g.recording->setup.start_ns + (g.clock[i] += 10);
	const struct record cell = { .word = record_word(kind, payload, 0x500),
				     .clock = clock };
	size_t done;

	ck_assert_int_eq(
		fibers_run(&g.thread[i].fibers, &cell, 1, clock, &done), 0);
	ck_assert_uint_eq(done, 1);
}

static void call(int i, uint64_t function, int count)
{
	for (int n = 0; n < count; n++) {
		record(i, RECORD_BEGIN, function);
		record(i, RECORD_END, function);
	}
}

/* --- the collector ------------------------------------------------------- */

static struct jobs_group g_endings;

static void set_up(void)
{
	scratch_enter();
	g.options = (struct collect_options){ .output = "out",
					      .max_bytes = 64 << 20 };
	g.collector =
		(struct collector){ .options = &g.options, .done_fd = -1 };
	jobs_group_init(&g_endings);
	g.collector.endings = &g_endings;
	lock_init(&g.collector.lock, LOCK_COLLECTOR);
	ck_assert_int_eq(symbol_cache_new(&g.collector.symbols), 0);
	ck_assert_int_eq(recording_new(&g.collector, "out", true, &g.recording),
			 0);
	g.arena = (struct arena){ .setup.recording = g.recording };
	g.entry = (struct process_entry){ .name = "program" };
	g.process = (struct process){ .setup = { .collector = &g.collector,
						 .arena = &g.arena,
						 .arena_setup = &g.arena.setup,
						 .pid = 77,
						 .entry = &g.entry } };
	ck_assert_int_eq(modules_new(getpid(), getpid(), NULL,
				     g.collector.symbols,
				     &g.process.setup.modules),
			 0);
	for (int i = 0; i < THREADS; i++)
		begin_thread(i);
}

static void tear_down(void)
{
	jobs_wait(recording_setup(g.recording)->jobs);
	for (int i = 0; i < THREADS; i++) {
		fibers_release(&g.thread[i].fibers);
		replay_free(&g.thread[i].replay);
	}
	ck_assert_uint_eq(g.recording->refs, 1);
	snapshot_forget(g.recording);
	recording_put(&g.recording);
	jobs_group_wait(&g_endings);
	modules_put(&g.process.setup.modules);
	symbol_cache_put(&g.collector.symbols);
	if (g.profile)
		perftools__profiles__profile__free_unpacked(g.profile, NULL);
	g.profile = NULL;
	scratch_leave();
}

/* --- the jobs thread ----------------------------------------------------- */

struct task {
	struct job job;
	sem_t done;
	struct snapshot *snapshot;
	char name[SNAPSHOT_NAME_BYTES];
	int err;
	int thread;
	sem_t *wait; /* only waits for this */
};

static void run_write(struct job *job)
{
	struct task *task = (struct task *)job;

	task->err = snapshot_write(&task->snapshot, task->name);
	sem_post(&task->done);
}

static void run_end(struct job *job)
{
	struct task *task = (struct task *)job;
	struct thread_stacks stacks;

	thread_stacks_copy(&g.thread[task->thread], clock_boottime_ns(),
			   &stacks);
	thread_stacks_add(&stacks, g.recording->setup.profiles.wall);
	snapshot_add_ended(&g.thread[task->thread], &stacks);
	thread_stacks_release(&stacks);
	sem_post(&task->done);
}

static void run_wait(struct job *job)
{
	struct task *task = (struct task *)job;

	while (sem_wait(task->wait))
		;
	sem_post(&task->done);
}

static void post(struct task *task, void (*run)(struct job *job))
{
	sem_init(&task->done, 0, 0);
	task->job.run = run;
	jobs_post(recording_setup(g.recording)->jobs, &task->job);
}

static void wait_for(struct task *task)
{
	while (sem_wait(&task->done))
		;
}

static void end_thread(int i)
{
	struct task task = { .thread = i };

	post(&task, run_end);
	wait_for(&task);
}

static struct snapshot *begin(void)
{
	struct snapshot *snapshot = NULL;

	ck_assert_int_eq(snapshot_begin(g.recording, false, &snapshot), 0);
	ck_assert_ptr_nonnull(snapshot);
	return snapshot;
}

static void read_profile(const char *name)
{
	static uint8_t bytes[1 << 20];
	char path[SNAPSHOT_NAME_BYTES + 8];
	gzFile file;
	int size;

	if (g.profile)
		perftools__profiles__profile__free_unpacked(g.profile, NULL);
	snprintf(path, sizeof(path), "out/%s", name);
	file = gzopen(path, "r");
	ck_assert_msg(file, "no %s", path);
	size = gzread(file, bytes, sizeof(bytes));
	ck_assert_int_gt(size, 0);
	gzclose(file);
	g.profile =
		perftools__profiles__profile__unpack(NULL, (size_t)size, bytes);
	ck_assert_ptr_nonnull(g.profile);
	unlink(path);
}

static void write_snapshot(struct snapshot *snapshot)
{
	struct task task = { .snapshot = snapshot };

	post(&task, run_write);
	wait_for(&task);
	ck_assert_int_eq(task.err, 0);
	ck_assert_ptr_null(task.snapshot);
	read_profile(task.name);
}

/* --- contents ------------------------------------------------------------ */

static const char *string(int64_t number)
{
	return g.profile->string_table[number];
}

/* @value 0: calls, 1: ns; @top: innermost function. */
static int64_t sum(const char *top, size_t value)
{
	int64_t all = 0;

	for (size_t i = 0; i < g.profile->n_sample; i++) {
		const Perftools__Profiles__Sample *one = g.profile->sample[i];
		const Perftools__Profiles__Location *at =
			g.profile->location[one->location_id[0] - 1];
		uint64_t function = at->line[0]->function_id;

		if (!strcmp(string(g.profile->function[function - 1]->name),
			    top))
			all += one->value[value];
	}
	return all;
}

static bool has_comment(const char *text)
{
	for (size_t i = 0; i < g.profile->n_comment; i++)
		if (strstr(string(g.profile->comment[i]), text))
			return true;
	return false;
}

/* --- tests --------------------------------------------------------------- */

FIXTURE(set_up, tear_down);

TEST(snapshot_has_threads_that_ended_and_that_go_on)
{
	struct snapshot *snapshot;

	call(0, F, 2);
	end_thread(0);
	call(1, F, 3);
	record(1, RECORD_BEGIN, G); /* stays open */
	snapshot = begin();
	snapshot_visit(&g.thread[1]);
	write_snapshot(snapshot);
	ck_assert_int_eq(sum(F_NAME, 0), 5);
	ck_assert_int_eq(sum(F_NAME, 1), 50);
	ck_assert_int_eq(sum(G_NAME, 0), 1);
	ck_assert_int_gt(sum(G_NAME, 1), 0);
	ck_assert(!has_comment("lost"));
	/* the recording is unaffected */
	ck_assert_ptr_null(g.recording->snapshots->now);
	ck_assert_uint_eq(g.recording->snapshots->number, 0);
	record(1, RECORD_END, G);
	ck_assert_uint_eq(replay_counts(g.thread[1].replay)->orphan_ends, 0);
}

TEST(thread_is_copied_once_for_a_snapshot)
{
	struct snapshot *snapshot;

	call(0, F, 4);
	snapshot_visit(&g.thread[0]); /* there is no snapshot yet */
	snapshot = begin();
	for (int i = 0; i < 3; i++) /* in each pass */
		snapshot_visit(&g.thread[0]);
	write_snapshot(snapshot);
	ck_assert_int_eq(sum(F_NAME, 0), 4);
	/* the next snapshot copies it again */
	call(0, F, 1);
	snapshot = begin();
	snapshot_visit(&g.thread[0]);
	write_snapshot(snapshot);
	ck_assert_int_eq(sum(F_NAME, 0), 5);
}

TEST(thread_that_ends_meanwhile_is_in_it_once)
{
	struct snapshot *snapshot;

	call(0, F, 3);
	call(1, G, 2);
	snapshot = begin();
	snapshot_visit(&g.thread[0]);
	end_thread(0); /* after its copy */
	end_thread(1); /* without a copy */
	write_snapshot(snapshot);
	ck_assert_int_eq(sum(F_NAME, 0), 3);
	ck_assert_int_eq(sum(G_NAME, 0), 2);
	write_snapshot(begin());
	ck_assert_int_eq(sum(F_NAME, 0), 3);
	ck_assert_int_eq(sum(G_NAME, 0), 2);
}

TEST(copy_that_comes_too_late_is_left_out)
{
	struct snapshot *snapshot;
	struct task hold = { 0 }, write = { 0 };
	sem_t go;

	call(0, F, 3);
	call(1, G, 2);
	snapshot = begin();
	snapshot_visit(&g.thread[0]);
	/* the copy is posted behind the writing job */
	sem_init(&go, 0, 0);
	hold.wait = &go;
	write.snapshot = snapshot;
	post(&hold, run_wait);
	post(&write, run_write);
	snapshot_visit(&g.thread[1]);
	sem_post(&go);
	wait_for(&hold);
	wait_for(&write);
	ck_assert_int_eq(write.err, 0);
	read_profile(write.name);
	ck_assert_int_eq(sum(F_NAME, 0), 3);
	ck_assert_int_eq(sum(G_NAME, 0), 0);
	/* nothing comes from a worker that read the previous number */
	snapshot = begin();
	snapshot_visit(&g.thread[0]);
	g.recording->snapshots->number--;
	g.thread[1].snapshot = 0;
	snapshot_visit(&g.thread[1]);
	g.recording->snapshots->number++;
	snapshot_visit(&g.thread[1]);
	write_snapshot(snapshot);
	ck_assert_int_eq(sum(F_NAME, 0), 3);
	ck_assert_int_eq(sum(G_NAME, 0), 2);
}

TEST(one_snapshot_is_made_at_a_time)
{
	struct snapshot *snapshot = begin(), *second = NULL;

	ck_assert_int_eq(snapshot_begin(g.recording, false, &second), -EBUSY);
	ck_assert_ptr_null(second);
	write_snapshot(snapshot);
	write_snapshot(begin());
}

TEST(lost_spans_are_told)
{
	struct snapshot *snapshot;

	call(0, F, 1);
	record(0, RECORD_LOSS, 7);
	call(1, F, 1);
	snapshot = begin();
	snapshot_visit(&g.thread[0]);
	g.thread[1].entry.dropped_spans = 5; /* set by drain */
	end_thread(1);
	write_snapshot(snapshot);
	ck_assert_int_eq(sum(F_NAME, 0), 2);
	ck_assert(has_comment("12 calls were lost"));
}

TEST(snapshot_that_cannot_be_written_is_no_hindrance)
{
	struct task task = { .snapshot = begin() };
	int dir_fd = g.recording->setup.dir_fd;

	/* a device fails even for root */
	g.recording->setup.dir_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	post(&task, run_write);
	wait_for(&task);
	ck_assert_int_eq(task.err, -ENOTDIR);
	ck_assert_ptr_null(task.snapshot);
	close(g.recording->setup.dir_fd);
	g.recording->setup.dir_fd = dir_fd;
	call(0, F, 1);
	task.snapshot = begin();
	snapshot_visit(&g.thread[0]);
	write_snapshot(task.snapshot);
	ck_assert_int_eq(sum(F_NAME, 0), 1);
}

static void make_date(char date[32])
{
	/* time() may be a tick behind. */
	struct timespec now;
	struct tm utc;

	clock_gettime(CLOCK_REALTIME, &now);
	strftime(date, 32, "%Y%m%dT%H%M%S", gmtime_r(&now.tv_sec, &utc));
}

TEST(names_say_what_and_when)
{
	char first[SNAPSHOT_NAME_BYTES], second[SNAPSHOT_NAME_BYTES];
	char before[32], date[32] = "", after[32];
	unsigned int ms;
	int end = 0;

	make_date(before);
	snapshot_make_name("heap", first);
	snapshot_make_name("heap", second);
	make_date(after);
	ck_assert_int_eq(
		sscanf(first, "heap.%15[0-9T].%3u.pb.gz%n", date, &ms, &end),
		2);
	ck_assert_uint_eq((size_t)end, strlen(first));
	ck_assert_uint_eq(strlen(first),
			  strlen("heap.20261121T100500.123.pb.gz"));
	ck_assert_str_le(before, date);
	ck_assert_str_le(date, after);
	ck_assert_str_le(first, second);
	/* long words are truncated */
	snapshot_make_name("much too long a word", first);
	ck_assert_int_eq(strncmp(first, "much too.20", 11), 0);
}
