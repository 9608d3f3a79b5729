/* SPDX-License-Identifier: Apache-2.0
 *
 * Made-up kernel records of threads pass cpu_threads into the times of
 * cpu.pb.gz and of the account of CPU time. Each thread has an event on each of
 * two CPUs, so it reports its time in two parts.
 */
#include "collector/samples/cpu_threads.h"

#include <linux/perf_event.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/base/jobs.h"
#include "collector/base/perf_open.h"
#include "collector/files/recording_finish.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena_inner.h"
#include "collector/record/collector.h"
#include "collector/record/cpu_account.h"
#include "collector/record/process_inner.h"
#include "collector/record/recording.h"
#include "collector/record/recording_inner.h"
#include "collector/replay/kernel_events.h"
#include "collector/samples/cpu_samples.h"
#include "collector/samples/perf_record.h"
#include "collector/samples/samples.h"
#include "proto/profile.pb-c.h"
#include "tests/suite.h"

#define MS 1000000ull
#define PERIOD (10 * MS)
#define READS 2
/* Above the kernel's largest id. */
#define PID 5000000
#define MAIN PID
#define WORKER 5000001
#define OTHER 5000002
#define CHILD 5000003

static struct {
	struct collect_options options;
	struct collector collector;
	struct recording *recording;
	struct arena arena;
	struct process process;
	struct process_entry entry;
	struct cpu_threads threads;
	char dir[40], output[64];
	Perftools__Profiles__Profile *profile;
	struct cpu_sum account;
} g;

static struct jobs_group g_endings;

static void set_up_with(bool no_kernel, bool switches)
{
	const struct perf_wanted wanted = { .period_ns = PERIOD,
					    .no_kernel = no_kernel,
					    .switches = switches };

	g.options = (struct collect_options){ .output = g.output,
					      .cpu_hz = 100,
					      .max_bytes = 64 << 20 };
	g.collector = (struct collector){ .options = &g.options };
	jobs_group_init(&g_endings);
	g.collector.endings = &g_endings;
	strcpy(g.dir, "/tmp/cpu_threads.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(g.dir));
	snprintf(g.output, sizeof(g.output), "%s/data", g.dir);
	ck_assert_int_eq(symbol_cache_new(&g.collector.symbols), 0);
	ck_assert_int_eq(sampler_new(&g.collector.sampler), 0);
	ck_assert_int_eq(
		recording_new(&g.collector, g.output, true, &g.recording), 0);
	cpu_account_free(&g.recording->setup.cpu_account);
	ck_assert_int_eq(cpu_account_new(&g.recording->setup.cpu_account), 0);
	g.arena = (struct arena){ .setup.recording = g.recording };
	g.entry = (struct process_entry){ .name = "program" };
	g.process = (struct process){ .setup = { .collector = &g.collector,
						 .arena = &g.arena,
						 .arena_setup = &g.arena.setup,
						 .pid = PID,
						 .inner_pid = PID,
						 .entry = &g.entry } };
	ck_assert_int_eq(modules_new(getpid(), getpid(), NULL,
				     g.collector.symbols,
				     &g.process.setup.modules),
			 0);
	ck_assert_int_eq(samples_new(g.collector.sampler, g.recording,
				     g.process.setup.modules, PID, "program",
				     &g.process.setup.samples),
			 0);
	ck_assert_int_eq(
		cpu_threads_init(&g.threads, &g.process, &wanted, READS), 0);
}

static void set_up(void)
{
	set_up_with(false, false);
}

static void set_up_with_switches(void)
{
	set_up_with(false, true);
}

static void set_up_without_kernel(void)
{
	set_up_with(true, false);
}

static void read_profile(void)
{
	static uint8_t bytes[1 << 20];
	char path[96];
	gzFile file;
	int size;

	snprintf(path, sizeof(path), "%s/cpu.pb.gz", g.output);
	file = gzopen(path, "r");
	ck_assert_ptr_nonnull(file);
	size = gzread(file, bytes, sizeof(bytes));
	ck_assert_int_gt(size, 0);
	gzclose(file);
	g.profile =
		perftools__profiles__profile__unpack(NULL, (size_t)size, bytes);
	ck_assert_ptr_nonnull(g.profile);
}

/* The kernel counted @total_ns. Leaves g.profile and g.account. */
static void finish(uint64_t total_ns)
{
	const struct cpu_truth truth = { .period_ns = PERIOD };

	cpu_threads_finish(&g.threads, total_ns);
	cpu_threads_release(&g.threads);
	samples_put(&g.process.setup.samples);
	modules_put(&g.process.setup.modules);
	sampler_free(&g.collector.sampler);
	cpu_account_close(recording_setup(g.recording)->cpu_account, &truth,
			  &g.account);
	cpu_account_free(&g.recording->setup.cpu_account);
	ck_assert_int_eq(recording_finish(g.recording), 0);
	recording_put(&g.recording);
	jobs_group_wait(&g_endings);
	read_profile();
}

static void tear_down(void)
{
	static const char *const files[] = { "trace.pftrace", "trace.index",
					     "wall.pb.gz", "cpu.pb.gz",
					     "summary.json" };
	char path[96];

	if (g.profile)
		perftools__profiles__profile__free_unpacked(g.profile, NULL);
	g.profile = NULL;
	symbol_cache_put(&g.collector.symbols);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", g.output, files[i]);
		unlink(path);
	}
	rmdir(g.output);
	ck_assert_int_eq(rmdir(g.dir), 0);
}

/* --- kernel records ------------------------------------------------------ */

static void sample(pid_t pid, pid_t tid, int count)
{
	for (int i = 0; i < count; i++) {
		const struct perf_record record = { .type = PERF_RECORD_SAMPLE,
						    .pid = pid,
						    .tid = tid,
						    .ns = (uint64_t)i *
							  PERIOD };

		cpu_threads_sample(&g.threads, &record);
	}
}

static void name(pid_t pid, pid_t tid, const char *text, bool exec)
{
	const struct perf_record record = { .type = PERF_RECORD_COMM,
					    .pid = pid,
					    .tid = tid,
					    .name = text,
					    .exec = exec };

	cpu_threads_name(&g.threads, &record);
}

static void fork_from(pid_t parent_pid, pid_t parent_tid, pid_t pid, pid_t tid)
{
	const struct perf_record record = { .type = PERF_RECORD_FORK,
					    .pid = pid,
					    .tid = tid,
					    .parent_pid = parent_pid,
					    .parent_tid = parent_tid };

	cpu_threads_fork(&g.threads, &record);
}

static void count(pid_t pid, pid_t tid, uint64_t ns)
{
	const struct perf_record record = {
		.type = PERF_RECORD_READ, .pid = pid, .tid = tid, .value = ns
	};

	cpu_threads_count(&g.threads, &record);
}

static void end(pid_t pid, pid_t tid)
{
	const struct perf_record record = { .type = PERF_RECORD_EXIT,
					    .pid = pid,
					    .tid = tid };

	cpu_threads_exit(&g.threads, &record);
}

static void begin(pid_t tid, const char *text)
{
	fork_from(PID, MAIN, PID, tid);
	name(PID, tid, text, false);
}

static void end_with(pid_t pid, pid_t tid, uint64_t ns)
{
	count(pid, tid, ns / 3);
	count(pid, tid, ns - ns / 3);
	end(pid, tid);
}

/* A thread begins, gets @samples, and ends after @ns. */
static void ran(pid_t tid, const char *text, int samples, uint64_t ns)
{
	begin(tid, text);
	sample(PID, tid, samples);
	end_with(PID, tid, ns);
}

static void settle(int passes)
{
	for (int i = 0; i < passes; i++)
		cpu_threads_settle(&g.threads, 2, 2);
}

/* --- results ------------------------------------------------------------- */

static const char *string(int64_t number)
{
	return g.profile->string_table[number];
}

static bool has_label(const Perftools__Profiles__Sample *one, const char *text)
{
	for (size_t i = 0; i < one->n_label; i++)
		if (one->label[i]->str &&
		    !strcmp(string(one->label[i]->str), text))
			return true;
	return false;
}

static const char *top_of(const Perftools__Profiles__Sample *one)
{
	const Perftools__Profiles__Location *at =
		g.profile->location[one->location_id[0] - 1];

	return string(g.profile->function[at->line[0]->function_id - 1]->name);
}

/* Sums value @value (0: count, 1: ns) over samples with label @label and
 * innermost function @top; NULL matches all. */
static int64_t sum(const char *label, const char *top, size_t value)
{
	int64_t all = 0;

	for (size_t i = 0; i < g.profile->n_sample; i++) {
		const Perftools__Profiles__Sample *one = g.profile->sample[i];

		if ((!label || has_label(one, label)) &&
		    (!top || !strcmp(top_of(one), top)))
			all += one->value[value];
	}
	return all;
}

static int64_t ns_of(const char *label)
{
	return sum(label, NULL, 1);
}

static uint64_t unsampled_ns(const char *command)
{
	for (size_t i = 0; i < g.account.rows; i++)
		if (!strcmp(g.account.row[i].name, command))
			return g.account.row[i].ns;
	return 0;
}

/* --- times --------------------------------------------------------------- */

FIXTURE(set_up, tear_down);

TEST(time_of_a_thread_is_the_sum_of_its_counts)
{
	begin(WORKER, "worker");
	sample(PID, WORKER, 3);
	begin(OTHER, "other");
	sample(PID, OTHER, 3);
	end_with(PID, WORKER, 37 * MS);
	end_with(PID, OTHER, 24 * MS);
	finish(61 * MS);
	ck_assert_int_eq(sum("worker", NULL, 0), 3);
	ck_assert_int_eq(ns_of("worker"), 37 * MS);
	ck_assert_int_eq(ns_of("other"), 24 * MS);
	ck_assert_int_eq(ns_of(NULL), 61 * MS);
	ck_assert_uint_eq(g.account.rows, 0);
}

TEST(records_of_a_thread_may_come_in_any_order)
{
	/* from the buffers of two CPUs, which are read one by one */
	count(PID, WORKER, 20 * MS);
	end(PID, WORKER);
	cpu_threads_settle(&g.threads, 2, 2);
	sample(PID, WORKER, 2);
	count(PID, WORKER, 5 * MS);
	settle(2);
	ck_assert_uint_eq(g.threads.count, 0);
	finish(25 * MS);
	ck_assert_int_eq(sum(NULL, NULL, 0), 2);
	ck_assert_int_eq(ns_of("program"), 25 * MS);
}

TEST(thread_is_kept_for_some_passes_after_its_end)
{
	begin(WORKER, "worker");
	sample(PID, WORKER, 1);
	ck_assert_uint_eq(g.threads.count, 1);
	for (int i = 0; i < 10; i++) /* it has not ended */
		cpu_threads_settle(&g.threads, 2, 2);
	ck_assert_uint_eq(g.threads.count, 1);
	end_with(PID, WORKER, 9 * MS);
	settle(2);
	ck_assert_uint_eq(g.threads.count, 1);
	cpu_threads_settle(&g.threads, 2, 2);
	ck_assert_uint_eq(g.threads.count, 0);
	finish(9 * MS);
	ck_assert_int_eq(ns_of("worker"), 9 * MS);
}

TEST(id_that_is_used_again_is_another_thread)
{
	ran(WORKER, "first", 2, 22 * MS);
	begin(WORKER, "second");
	ck_assert_uint_eq(g.threads.count, 2);
	sample(PID, WORKER, 1);
	end_with(PID, WORKER, 13 * MS);
	finish(35 * MS);
	/* both threads of this id share the scaled sum, rounded per stack */
	ck_assert_int_ge(ns_of(NULL), 35 * MS - 2);
	ck_assert_int_le(ns_of(NULL), 35 * MS);
	ck_assert_int_eq(sum("first", NULL, 0), 2);
	ck_assert_int_eq(sum("second", NULL, 0), 1);
}

TEST(thread_without_a_sample_was_short_or_displaced)
{
	ran(WORKER, "worker", 2, 20 * MS);
	begin(OTHER, "short");
	end_with(PID, OTHER, 4 * MS);
	/* More than a period without a sample: the kernel gave it to another
	 * thread, which stands for this one. */
	begin(OTHER, "displaced");
	end_with(PID, OTHER, 15 * MS);
	finish(39 * MS);
	ck_assert_int_eq(sum(NULL, "[short threads]", 1), 4 * MS);
	ck_assert_int_eq(ns_of("worker"), 35 * MS);
	ck_assert_int_eq(ns_of(NULL), 39 * MS);
}

static bool shoot(pid_t pid, pid_t tid)
{
	const struct perf_record record = { .type = PERF_RECORD_SAMPLE,
					    .pid = pid,
					    .tid = tid };

	return cpu_threads_shot(&g.threads, &record);
}

/* The short thread needs samples; the long one has some. */
TEST(shots_are_for_threads_without_samples)
{
	begin(WORKER, "short");
	end_with(PID, WORKER, 4 * MS);
	ck_assert_int_eq(g.threads.owed_ns, 4 * MS);
	begin(OTHER, "long");
	sample(PID, OTHER, 2);
	ck_assert(!shoot(PID, OTHER));
	end_with(PID, OTHER, 25 * MS);
	ck_assert_int_eq(g.threads.owed_ns, 4 * MS);
	begin(CHILD, "next");
	ck_assert(shoot(PID, CHILD));
	end_with(PID, CHILD, 4 * MS);
	ck_assert_int_eq(g.threads.owed_ns, 8 * (int64_t)MS - (int64_t)PERIOD);
	finish(33 * MS);
	ck_assert_int_eq(sum(NULL, "[short threads]", 1), 0);
	ck_assert_int_eq(sum("next", NULL, 0), 1);
	ck_assert_int_eq(ns_of("next"), 8 * MS);
	ck_assert_int_eq(ns_of("long"), 25 * MS);
}

/* Swaps moved its samples to threads that then ended. */
TEST(shots_are_for_a_thread_that_lost_samples)
{
	begin(WORKER, "long");
	sample(PID, WORKER, 1);
	ck_assert(!shoot(PID, WORKER));
	/* A busy host may be the reason for a long thread's missing samples. */
	count(PID, WORKER, 40 * MS);
	ck_assert(!shoot(PID, WORKER));
	for (pid_t tid = OTHER; tid < OTHER + 5; tid++) {
		begin(tid, "short");
		end(PID, tid);
	}
	ck_assert(shoot(PID, WORKER));
	count(PID, WORKER, 10 * MS);
	end(PID, WORKER);
	ck_assert_int_eq(g.threads.owed_ns, 30 * MS);
	finish(50 * MS);
	ck_assert_int_eq(sum("long", NULL, 0), 2);
	ck_assert_int_eq(ns_of("long"), 50 * MS);
}

FIXTURE(set_up_without_kernel, tear_down);

/* Threads without samples took the time, so it is not the kernel's. */
TEST(time_that_swaps_took_is_not_of_the_kernel)
{
	for (int i = 0; i < 5; i++) {
		begin(OTHER, "short");
		end_with(PID, OTHER, 4 * MS);
	}
	begin(WORKER, "long");
	sample(PID, WORKER, 1);
	count(PID, WORKER, 40 * MS);
	ck_assert(shoot(PID, WORKER));
	end(PID, WORKER);
	finish(60 * MS);
	ck_assert_int_eq(sum(NULL, "[kernel]", 1), 0);
	ck_assert_int_eq(ns_of("long"), 40 * MS);
}

TEST(time_that_the_kernel_hides_is_its_own)
{
	ran(WORKER, "worker", 3, 56 * MS);
	finish(56 * MS);
	/* two entire periods without a sample; the rest is scaled */
	ck_assert_int_eq(sum(NULL, "[kernel]", 0), 2);
	ck_assert_int_eq(sum(NULL, NULL, 0), 5);
	ck_assert_int_eq(ns_of("worker"), 56 * MS);
}

/* --- missing records ----------------------------------------------------- */

FIXTURE(set_up, tear_down);

TEST(thread_that_never_told_gets_what_is_left)
{
	/* the kernel swapped the events of two consecutive threads */
	begin(WORKER, "worker");
	sample(PID, WORKER, 2);
	end(PID, WORKER);
	ran(OTHER, "other", 3, 31 * MS);
	settle(5);
	/* the first thread waits for the end of the recording */
	ck_assert_uint_eq(g.threads.count, 1);
	ck_assert_uint_eq(g.threads.silent, 1);
	ck_assert_uint_eq(g.threads.counted_ns, 31 * MS);
	finish(48 * MS);
	ck_assert_int_eq(ns_of("worker"), 17 * MS);
	ck_assert_int_eq(ns_of("other"), 31 * MS);
}

TEST(thread_of_which_a_count_was_lost_gets_the_rest)
{
	begin(WORKER, "worker");
	sample(PID, WORKER, 2);
	count(PID, WORKER, 8 * MS);
	end(PID, WORKER);
	ran(OTHER, "other", 3, 31 * MS);
	settle(5);
	ck_assert_uint_eq(g.threads.silent, 1);
	finish(31 * MS + 21 * MS);
	ck_assert_int_eq(ns_of("worker"), 21 * MS);
	ck_assert_int_eq(ns_of("other"), 31 * MS);
}

TEST(count_that_comes_late_ends_the_waiting)
{
	begin(WORKER, "worker");
	sample(PID, WORKER, 2);
	count(PID, WORKER, 8 * MS);
	end(PID, WORKER);
	settle(5);
	ck_assert_uint_eq(g.threads.silent, 1);
	count(PID, WORKER, 14 * MS);
	cpu_threads_settle(&g.threads, 2, 2);
	ck_assert_uint_eq(g.threads.silent, 0);
	ck_assert_uint_eq(g.threads.count, 0);
	finish(22 * MS);
	ck_assert_int_eq(ns_of("worker"), 22 * MS);
}

TEST(threads_that_never_told_share_by_their_samples)
{
	begin(WORKER, "worker");
	sample(PID, WORKER, 6);
	end(PID, WORKER);
	begin(OTHER, "other");
	sample(PID, OTHER, 2);
	end(PID, OTHER);
	finish(40 * MS);
	ck_assert_int_eq(ns_of(NULL), 40 * MS);
	ck_assert_int_ge(ns_of("worker"), 30 * MS - 1000);
	ck_assert_int_le(ns_of("worker"), 30 * MS + 1000);
}

/* A busy machine loses records of switches; a single-threaded program had up to
 * 5 % of its time in [short threads]. */
TEST(time_of_nobody_is_that_of_all_threads)
{
	ran(WORKER, "worker", 2, 20 * MS);
	ran(OTHER, "other", 1, 10 * MS);
	finish(36 * MS);
	ck_assert_int_eq(ns_of(NULL), 36 * MS);
	ck_assert_int_le(llabs(ns_of("worker") - (int64_t)(24 * MS)), 10);
	ck_assert_int_le(llabs(ns_of("other") - (int64_t)(12 * MS)), 10);
	ck_assert_int_eq(sum(NULL, "[short threads]", 1), 0);
}

TEST(time_of_nobody_is_that_of_short_threads_at_last)
{
	ran(WORKER, "worker", 2, 20 * MS);
	settle(5);
	finish(26 * MS);
	ck_assert_int_eq(ns_of("worker"), 20 * MS);
	ck_assert_int_eq(sum(NULL, "[short threads]", 1), 6 * MS);
}

TEST(totals_below_the_counts_take_nothing_away)
{
	ran(WORKER, "worker", 2, 20 * MS);
	begin(OTHER, "silent");
	sample(PID, OTHER, 1);
	end(PID, OTHER);
	finish(3 * MS);
	ck_assert_int_eq(ns_of("worker"), 20 * MS);
	ck_assert_int_eq(ns_of("silent"), PERIOD);
	ck_assert_int_eq(ns_of(NULL), 30 * MS);
}

/* --- processes ----------------------------------------------------------- */

TEST(child_has_times_of_its_own)
{
	ran(WORKER, "worker", 2, 20 * MS);
	name(PID, MAIN, "main", false);
	fork_from(PID, MAIN, CHILD, CHILD);
	sample(CHILD, CHILD, 3);
	end_with(CHILD, CHILD, 33 * MS);
	settle(5);
	finish(53 * MS);
	/* a thread inherits the name of its creator */
	ck_assert_int_eq(ns_of("main"), 33 * MS);
	ck_assert_int_eq(ns_of("worker"), 20 * MS);
	ck_assert_uint_eq(g.account.rows, 0);
}

TEST(child_without_a_sample_is_in_the_account)
{
	name(PID, MAIN, "main", false);
	sample(PID, MAIN, 1);
	fork_from(PID, MAIN, CHILD, CHILD);
	end_with(CHILD, CHILD, 4 * MS);
	settle(5);
	end_with(PID, MAIN, 10 * MS);
	finish(14 * MS);
	ck_assert_int_eq(ns_of(NULL), 10 * MS);
	ck_assert_uint_eq(g.account.count, 1);
	ck_assert_uint_eq(unsampled_ns("program"), 4 * MS);
}

/* A shot hits one of two children by chance and stands for both, but not for a
 * third with more time. */
TEST(child_that_a_shot_hits_stands_for_others)
{
	fork_from(PID, MAIN, CHILD, CHILD);
	end_with(CHILD, CHILD, 19 * MS);
	cpu_threads_settle(&g.threads, 0, 0);
	fork_from(PID, MAIN, CHILD + 1, CHILD + 1);
	end_with(CHILD + 1, CHILD + 1, 4 * MS);
	cpu_threads_settle(&g.threads, 0, 0);
	fork_from(PID, MAIN, CHILD + 2, CHILD + 2);
	ck_assert(shoot(CHILD + 2, CHILD + 2));
	end_with(CHILD + 2, CHILD + 2, 5 * MS);
	cpu_threads_settle(&g.threads, 0, 0);
	sample(PID, MAIN, 1);
	count(PID, MAIN, 10 * MS);
	finish(38 * MS);
	ck_assert_int_eq(ns_of(NULL), 19 * MS);
	ck_assert_int_eq(sum(NULL, "[short threads]", 1), 0);
	ck_assert_uint_eq(g.account.rows, 1);
	ck_assert_uint_eq(g.account.row[0].count, 1);
	ck_assert_uint_eq(g.account.row[0].ns, 19 * MS);
}

/* The account has one entry for the child and for the program that it became,
 * which must not be missing. */
TEST(shot_stands_for_no_child_that_became_another_program)
{
	g.threads.begun_ns = 50 * MS;
	fork_from(PID, MAIN, CHILD, CHILD);
	count(CHILD, CHILD, 1 * MS);
	count(CHILD, CHILD, 3 * MS);
	cpu_threads_exec(&g.threads, CHILD, 104 * MS);
	cpu_threads_settle(&g.threads, 0, 0);
	fork_from(PID, MAIN, CHILD + 1, CHILD + 1);
	ck_assert(shoot(CHILD + 1, CHILD + 1));
	end_with(CHILD + 1, CHILD + 1, 5 * MS);
	cpu_threads_settle(&g.threads, 0, 0);
	sample(PID, MAIN, 1);
	count(PID, MAIN, 10 * MS);
	finish(19 * MS);
	ck_assert_int_eq(ns_of(NULL), 15 * MS);
	ck_assert_uint_eq(g.account.rows, 1);
	ck_assert_uint_eq(g.account.row[0].count, 1);
	ck_assert_uint_eq(g.account.row[0].ns, 4 * MS);
}

TEST(program_after_exec_is_not_ours)
{
	fork_from(PID, MAIN, CHILD, CHILD);
	sample(CHILD, CHILD, 2);
	name(CHILD, CHILD, "sort", true);
	sample(CHILD, CHILD, 50);
	/* another recorder may count it from now on */
	end_with(CHILD, CHILD, 500 * MS);
	finish(500 * MS);
	ck_assert_int_eq(sum(NULL, NULL, 0), 2);
	ck_assert_int_eq(ns_of(NULL), 2 * PERIOD);
}

TEST(end_told_of_another_process_ends_nothing)
{
	begin(WORKER, "worker");
	sample(PID, WORKER, 1);
	end(PID + 100, WORKER);
	for (int i = 0; i < 5; i++)
		cpu_threads_settle(&g.threads, 0, 0);
	ck_assert_uint_eq(g.threads.count, 1);
	ck_assert_uint_eq(g.threads.silent, 0);
	end_with(PID, WORKER, 10 * MS);
	finish(10 * MS);
	ck_assert_int_eq(ns_of("worker"), 10 * MS);
}

TEST(thousands_of_threads_are_told_apart)
{
	enum { ALL = 5000 };

	for (pid_t i = 0; i < ALL; i++) {
		begin(WORKER + i, i % 2 ? "odd" : "even");
		sample(PID, WORKER + i, 1);
	}
	ck_assert_uint_eq(g.threads.count, ALL);
	for (pid_t i = 0; i < ALL; i++)
		end_with(PID, WORKER + i, i % 2 ? 3 * MS : 12 * MS);
	settle(4);
	ck_assert_uint_eq(g.threads.count, 0);
	finish(ALL / 2 * 15 * MS);
	ck_assert_int_eq(ns_of("odd"), ALL / 2 * 3 * MS);
	ck_assert_int_eq(ns_of("even"), ALL / 2 * 12 * MS);
}

/* --- ticks --------------------------------------------------------------- */

static size_t take_at(pid_t tid, uint64_t alive_ns, struct kernel_event *out,
		      size_t room)
{
	struct sched_track before;

	return cpu_threads_take(&g.threads, tid, alive_ns, out, room, &before);
}

static size_t take(pid_t tid, struct kernel_event *out, size_t room)
{
	return take_at(tid, 0, out, room);
}

static void switch_at(pid_t tid, uint64_t ns, bool out, bool preempted)
{
	const struct perf_record record = { .type = PERF_RECORD_SWITCH,
					    .pid = PID,
					    .tid = tid,
					    .ns = ns,
					    .cpu = 1,
					    .out = out,
					    .preempted = preempted };

	cpu_threads_switch(&g.threads, &record);
}

FIXTURE(set_up_with_switches, tear_down);

TEST(ticks_are_the_times_of_samples)
{
	struct kernel_event tick[8];

	ck_assert_uint_eq(take(WORKER, tick, 8), 0);
	sample(PID, WORKER, 5);
	ck_assert_uint_eq(take(WORKER, tick, 3), 3);
	ck_assert_uint_eq(tick[2].ns, 2 * PERIOD);
	ck_assert_uint_eq(tick[2].kind, KERNEL_TICK);
	ck_assert_uint_eq(tick[2].value, 1);
	ck_assert_uint_eq(take(WORKER, tick, 8), 2);
	ck_assert_uint_eq(tick[0].ns, 3 * PERIOD);
	ck_assert_uint_eq(tick[1].ns, 4 * PERIOD);
	ck_assert_uint_eq(take(WORKER, tick, 8), 0);
	cpu_threads_take_no_more(&g.threads, WORKER, 0);
	sample(PID, WORKER, 3);
	ck_assert_uint_eq(take(WORKER, tick, 8), 0);
	finish(80 * MS);
}

TEST(what_is_counted_is_told_with_its_time)
{
	const struct perf_record faults = { .type = PERF_RECORD_SAMPLE,
					    .counted = true,
					    .pid = PID,
					    .tid = WORKER,
					    .ns = 5 * MS,
					    .value = 1 };
	struct perf_record counter = faults;
	struct kernel_event event[4];

	counter.ns = 6 * MS;
	counter.value = 1000003;
	sample(PID, WORKER, 1);
	ck_assert_uint_eq(take(WORKER, event, 4), 1);
	cpu_threads_counted(&g.threads, &faults, KERNEL_FAULT, 0);
	cpu_threads_counted(&g.threads, &counter, KERNEL_COUNTER, 3);
	ck_assert_uint_eq(take(WORKER, event, 4), 2);
	ck_assert_uint_eq(event[0].kind, KERNEL_FAULT);
	ck_assert_uint_eq(event[0].ns, 5 * MS);
	ck_assert_uint_eq(event[0].value, 1);
	ck_assert_uint_eq(event[1].kind, KERNEL_COUNTER);
	ck_assert_uint_eq(event[1].flag, 3);
	ck_assert_uint_eq(event[1].value, 1000003);
	/* After exec() of another image the address is unknown. */
	name(PID, WORKER, "other", true);
	cpu_threads_counted(&g.threads, &faults, KERNEL_FAULT, 0);
	ck_assert_uint_eq(take(WORKER, event, 4), 1);
	ck_assert_uint_eq(event[0].kind, KERNEL_EXIT);
	finish(80 * MS);
}

TEST(thread_whose_ticks_are_wanted_is_kept_for_them)
{
	struct kernel_event tick[8];

	begin(WORKER, "worker");
	ck_assert_uint_eq(take(WORKER, tick, 8), 1);
	ck_assert_uint_eq(tick[0].kind, KERNEL_START);
	sample(PID, WORKER, 2);
	end_with(PID, WORKER, 20 * MS);
	for (int i = 0; i < 5; i++)
		cpu_threads_settle(&g.threads, 2, 10);
	ck_assert_uint_eq(g.threads.count, 1);
	ck_assert_uint_eq(take(WORKER, tick, 8), 3);
	cpu_threads_settle(&g.threads, 2, 10);
	ck_assert_uint_eq(g.threads.count, 0);
	finish(20 * MS);
	/* settled only once */
	ck_assert_int_eq(ns_of("worker"), 20 * MS);
}

TEST(switches_are_told_in_their_order)
{
	struct kernel_event event[8];

	switch_at(WORKER, 10, false, false);
	switch_at(WORKER, 20, true, true);
	switch_at(WORKER, 30, false, false);
	switch_at(WORKER, 40, true, false);
	ck_assert_uint_eq(take(WORKER, event, 8), 4);
	ck_assert_uint_eq(event[0].kind, KERNEL_IN);
	ck_assert_uint_eq(event[0].cpu, 1);
	ck_assert_uint_eq(event[1].kind, KERNEL_PREEMPTED);
	ck_assert_uint_eq(event[2].ns, 30);
	ck_assert_uint_eq(event[3].kind, KERNEL_BLOCKED);
	finish(0);
}

TEST(after_a_loss_each_thread_is_unknown_once)
{
	struct kernel_event event[8];

	switch_at(WORKER, 10, false, false);
	switch_at(OTHER, 12, false, false);
	cpu_threads_lose(&g.threads, 15);
	cpu_threads_lose(&g.threads, 17);
	switch_at(WORKER, 20, true, false);
	ck_assert_uint_eq(take(WORKER, event, 8), 3);
	ck_assert_uint_eq(event[1].kind, KERNEL_UNKNOWN);
	ck_assert_uint_eq(event[1].ns, 15);
	ck_assert_uint_eq(event[2].kind, KERNEL_BLOCKED);
	/* as well as a thread without later events */
	ck_assert_uint_eq(take(OTHER, event, 8), 2);
	ck_assert_uint_eq(event[1].kind, KERNEL_UNKNOWN);
	ck_assert_uint_eq(take(OTHER, event, 8), 0);
	/* but not threads that started after the loss */
	switch_at(MAIN, 30, false, false);
	ck_assert_uint_eq(take(MAIN, event, 8), 1);
	finish(0);
}

static void end_at(pid_t tid, uint64_t ns)
{
	const struct perf_record record = {
		.type = PERF_RECORD_EXIT, .pid = PID, .tid = tid, .ns = ns
	};

	cpu_threads_exit(&g.threads, &record);
}

/* Switches come without a READ. */
TEST(thread_ran_from_switch_to_switch)
{
	begin(WORKER, "worker");
	sample(PID, WORKER, 1);
	switch_at(WORKER, 100 * MS, false, false);
	switch_at(WORKER, 107 * MS, true, false);
	switch_at(WORKER, 200 * MS, false, false);
	end_at(WORKER, 206 * MS);
	settle(5);
	ck_assert_uint_eq(g.threads.count, 0);
	ck_assert_uint_eq(g.threads.counted_ns, 13 * MS);
	finish(13 * MS);
	ck_assert_int_eq(ns_of("worker"), 13 * MS);
}

/* The thread was preempted for a while. Its later switches are not reported. */
TEST(thread_ran_until_its_exec)
{
	const struct perf_record exec = { .type = PERF_RECORD_COMM,
					  .pid = PID,
					  .tid = MAIN,
					  .ns = 104 * MS,
					  .name = "other",
					  .exec = true };
	struct kernel_event event[8];

	switch_at(MAIN, 100 * MS, false, false);
	cpu_threads_name(&g.threads, &exec);
	switch_at(MAIN, 105 * MS, true, true);
	switch_at(MAIN, 180 * MS, false, false);
	ck_assert_uint_eq(take(MAIN, event, 8), 2);
	ck_assert_uint_eq(event[1].kind, KERNEL_EXIT);
	ck_assert_uint_eq(event[1].ns, 104 * MS);
	end_at(MAIN, 200 * MS);
	ck_assert_uint_eq(g.threads.counted_ns, 4 * MS);
	finish(4 * MS);
}

/* Its events end with exec(), and no record says so. */
TEST(exec_ends_all_threads_of_its_process)
{
	struct kernel_event event[8];

	g.threads.begun_ns = 50 * MS;
	begin(WORKER, "worker");
	switch_at(WORKER, 100 * MS, false, false);
	switch_at(OTHER, 101 * MS, false, false);
	cpu_threads_exec(&g.threads, CHILD, 104 * MS);
	cpu_threads_exec(&g.threads, PID, 104 * MS);
	ck_assert_uint_eq(take(OTHER, event, 8), 2);
	ck_assert_uint_eq(event[1].kind, KERNEL_EXIT);
	ck_assert_uint_eq(event[1].ns, 104 * MS);
	settle(5);
	ck_assert_uint_eq(g.threads.count, 0);
	ck_assert_uint_eq(g.threads.counted_ns, 7 * MS);
	ck_assert_uint_eq(g.recording->sums.totals.sched.silent_on_ns, 4 * MS);
	finish(7 * MS);
}

/* By then the thread that calls exec() has the id of the main thread. */
TEST(switch_of_a_thread_that_has_ended_is_of_another)
{
	struct kernel_event event[8];

	switch_at(MAIN, 100 * MS, false, false);
	end_at(MAIN, 101 * MS);
	switch_at(MAIN, 102 * MS, true, true);
	switch_at(MAIN, 103 * MS, false, false);
	ck_assert_uint_eq(take(MAIN, event, 8), 2);
	ck_assert_uint_eq(event[1].kind, KERNEL_EXIT);
	ck_assert_uint_eq(g.threads.counted_ns, 1 * MS);
	finish(1 * MS);
}

/* The process said hello afterwards, from the new image. */
TEST(exec_before_hello_ends_nothing)
{
	struct kernel_event event[8];

	g.threads.begun_ns = 105 * MS;
	switch_at(MAIN, 110 * MS, false, false);
	cpu_threads_exec(&g.threads, PID, 104 * MS);
	ck_assert_uint_eq(take(MAIN, event, 8), 1);
	finish(0);
}

/* The thread vanished in exec(), and no event reports its end. */
TEST(silent_thread_that_is_gone_ran_until_its_last_event)
{
	const struct sched_totals *sched = &g.recording->sums.totals.sched;

	begin(WORKER, "worker");
	switch_at(WORKER, 100 * MS, false, false);
	switch_at(WORKER, 103 * MS, true, false);
	switch_at(WORKER, 109 * MS, false, false);
	cpu_threads_release(&g.threads);
	ck_assert_uint_eq(sched->silent_on_ns, 3 * MS);
	ck_assert_uint_gt(sched->silent_unknown_ns, 0);
	ck_assert_int_eq(
		cpu_threads_init(&g.threads, &g.process,
				 &(struct perf_wanted){ .period_ns = PERIOD },
				 READS),
		0);
	finish(0);
}

TEST(thread_of_which_switches_were_lost_gets_the_rest)
{
	begin(WORKER, "worker");
	sample(PID, WORKER, 1);
	switch_at(WORKER, 100 * MS, false, false);
	begin(OTHER, "other");
	cpu_threads_lose(&g.threads, 101 * MS);
	switch_at(WORKER, 150 * MS, true, false);
	switch_at(WORKER, 160 * MS, false, false);
	end_at(WORKER, 163 * MS);
	settle(5);
	ck_assert_uint_eq(g.threads.silent, 1);
	ck_assert_uint_eq(g.threads.counted_ns, 3 * MS);
	end_at(OTHER, 170 * MS);
	finish(12 * MS);
	ck_assert_int_ge(ns_of("worker"), 11 * MS);
}

/* Drops the references that come with the result. */
static size_t take_blocked(uint64_t before_ns, struct cpu_blocked *out,
			   size_t room)
{
	size_t count =
		cpu_threads_take_blocked(&g.threads, before_ns, out, room);

	for (size_t i = 0; i < count; i++) {
		ck_assert_ptr_nonnull(out[i].samples);
		samples_put(&out[i].samples);
	}
	return count;
}

/* A drain worker may read a ring after another thread got the id. */
TEST(each_thread_of_an_id_has_its_own_events)
{
	struct kernel_event event[8];

	begin(WORKER, "first");
	switch_at(WORKER, 10, false, false);
	end_at(WORKER, 20);
	begin(WORKER, "second");
	switch_at(WORKER, 30, false, false);
	end_at(WORKER, 40);
	begin(WORKER, "third");
	switch_at(WORKER, 50, false, false);
	ck_assert_uint_eq(take_at(WORKER, 15, event, 8), 3);
	ck_assert_uint_eq(event[1].ns, 10);
	cpu_threads_take_no_more(&g.threads, WORKER, 15);
	ck_assert_uint_eq(take_at(WORKER, 55, event, 8), 2);
	ck_assert_uint_eq(event[1].ns, 50);
	ck_assert_uint_eq(take_at(WORKER, 35, event, 8), 3);
	ck_assert_uint_eq(event[1].ns, 30);
	ck_assert_uint_eq(event[2].kind, KERNEL_EXIT);
	finish(0);
}

TEST(threads_that_are_blocked_are_told_once_a_wait)
{
	struct cpu_blocked blocked[4];

	switch_at(WORKER, 10, true, false);
	switch_at(OTHER, 11, true, true);
	switch_at(MAIN, 50, true, false);
	ck_assert_uint_eq(take_blocked(40, blocked, 4), 1);
	ck_assert_int_eq(blocked[0].tid, WORKER);
	ck_assert_uint_eq(blocked[0].since_ns, 10);
	ck_assert_uint_eq(take_blocked(40, blocked, 4), 0);
	switch_at(WORKER, 60, false, false);
	switch_at(WORKER, 70, true, false);
	ck_assert_uint_eq(take_blocked(80, blocked, 1), 1);
	ck_assert_uint_eq(take_blocked(80, blocked + 1, 3), 1);
	ck_assert_uint_eq(take_blocked(80, blocked, 4), 0);
	finish(0);
}

TEST(who_waits_first_is_told_first)
{
	struct cpu_blocked blocked[2];

	switch_at(WORKER, 10, true, false);
	switch_at(MAIN, 11, true, false);
	switch_at(OTHER, 12, true, false);
	ck_assert_uint_eq(take_blocked(40, blocked, 1), 1);
	ck_assert_int_eq(blocked[0].tid, WORKER);
	switch_at(WORKER, 20, false, false);
	switch_at(WORKER, 21, true, false);
	ck_assert_uint_eq(take_blocked(40, blocked, 2), 2);
	ck_assert_int_eq(blocked[0].tid, MAIN);
	ck_assert_int_eq(blocked[1].tid, OTHER);
	ck_assert_uint_eq(take_blocked(40, blocked, 2), 1);
	ck_assert_int_eq(blocked[0].tid, WORKER);
	ck_assert_uint_eq(take_blocked(40, blocked, 2), 0);
	finish(0);
}

TEST(what_is_told_of_a_wait_that_is_over_is_not_taken)
{
	struct kernel_event event[8];
	struct cpu_blocked blocked;

	switch_at(WORKER, 10, true, false);
	ck_assert_uint_eq(take_blocked(40, &blocked, 1), 1);
	cpu_threads_tell_anchor(&g.threads, &blocked, 700, 800);
	ck_assert_uint_eq(take(WORKER, event, 8), 3);
	ck_assert_uint_eq(event[1].kind, KERNEL_DELAY);
	ck_assert_uint_eq(event[1].value, 800);
	ck_assert_uint_eq(event[2].kind, KERNEL_ANCHOR);
	ck_assert_uint_eq(event[2].value, 700);
	switch_at(WORKER, 60, false, false);
	switch_at(WORKER, 70, true, false);
	cpu_threads_tell_anchor(&g.threads, &blocked, 900, 900);
	ck_assert(!cpu_threads_tell_wait(&g.threads, &blocked, NULL));
	ck_assert_uint_eq(take(WORKER, event, 8), 2);
	finish(0);
}

TEST(thread_that_recorded_nothing_counts_for_the_recording)
{
	const struct sched_totals *sched =
		&recording_sums(g.recording)->totals.sched;
	struct kernel_event event[8];

	begin(WORKER, "worker");
	switch_at(WORKER, 10, false, false);
	switch_at(WORKER, 25, true, false);
	switch_at(WORKER, 65, false, false);
	end_at(WORKER, 70);
	/* A drain worker asked for the events of this thread. */
	begin(OTHER, "other");
	switch_at(OTHER, 10, false, false);
	ck_assert_uint_eq(take(OTHER, event, 8), 2);
	end_at(OTHER, 70);
	ck_assert_uint_eq(take(OTHER, event, 8), 1);
	settle(3);
	ck_assert_uint_eq(g.threads.count, 0);
	ck_assert_uint_eq(sched->silent_threads, 1);
	ck_assert_uint_eq(sched->silent_on_ns, 20);
	ck_assert_uint_eq(sched->silent_blocked_ns, 40);
	ck_assert_uint_eq(sched->silent_runnable_ns, 10);
	finish(80);
}

/* The record of the switch that ended the wait was lost. */
TEST(next_wait_has_nothing_of_one_that_nobody_saw_end)
{
	struct kernel_event event[8];
	struct cpu_blocked blocked;
	struct sample *wait = sample_new_blocked(0, "[mutex app+0x40]");

	ck_assert_ptr_nonnull(wait);
	switch_at(WORKER, 10, true, false);
	ck_assert_uint_eq(take_blocked(40, &blocked, 1), 1);
	ck_assert(cpu_threads_tell_wait(&g.threads, &blocked, wait));
	switch_at(WORKER, 70, true, false);
	switch_at(WORKER, 90, false, false);
	ck_assert_uint_eq(take(WORKER, event, 8), 3);
	ck_assert_uint_eq(event[2].kind, KERNEL_IN);
	ck_assert_uint_eq(event[2].flag, 0);
	finish(0);
}

TEST(end_of_a_wait_has_what_was_told_of_it)
{
	struct kernel_event event[8];
	struct cpu_blocked blocked;
	struct sample *wait = sample_new_blocked(0, "[mutex app+0x40]");

	ck_assert_ptr_nonnull(wait);
	wait->call = 203;
	switch_at(WORKER, 10, true, false);
	ck_assert_uint_eq(take_blocked(40, &blocked, 1), 1);
	ck_assert(cpu_threads_tell_wait(&g.threads, &blocked, wait));
	switch_at(WORKER, 60, false, false);
	switch_at(WORKER, 70, true, false);
	switch_at(WORKER, 90, false, false);
	ck_assert_uint_eq(take(WORKER, event, 8), 4);
	ck_assert_uint_eq(event[1].kind, KERNEL_IN);
	ck_assert_uint_eq(event[1].flag, 1);
	ck_assert_uint_eq(event[1].call, 203);
	ck_assert_str_eq((const char *)(uintptr_t)event[1].value,
			 "[mutex app+0x40]");
	ck_assert_uint_eq(event[3].kind, KERNEL_IN);
	ck_assert_uint_eq(event[3].flag, 0);
	ck_assert_uint_eq(event[3].value, 0);
	finish(0);
}

static void wake_at(uint64_t ns, pid_t by_pid, pid_t by, bool in_interrupt)
{
	const struct perf_record record = { .type = PERF_RECORD_SAMPLE,
					    .pid = by_pid,
					    .tid = by,
					    .ns = ns,
					    .woken_tid = WORKER,
					    .in_interrupt = in_interrupt };
	const char name[16] = "waker";

	ck_assert(cpu_threads_woken(&g.threads, &record, name));
}

static void ck_woken(const struct kernel_event *event, const char *name,
		     pid_t tid)
{
	ck_assert_uint_eq(event->kind, KERNEL_WOKEN);
	ck_assert_str_eq((const char *)(uintptr_t)event->value, name);
	ck_assert_int_eq((pid_t)event->call, tid);
}

TEST(end_of_a_wait_has_its_waker)
{
	struct kernel_event event[16];

	switch_at(WORKER, 1 * MS, true, false);
	wake_at(2 * MS, PID, MAIN, false);
	switch_at(WORKER, 3 * MS, false, false);
	/* The record of its sleep comes a moment after it was woken. */
	wake_at(5 * MS - 1000, OTHER, OTHER, false);
	switch_at(WORKER, 5 * MS, true, false);
	switch_at(WORKER, 6 * MS, false, false);
	switch_at(WORKER, 7 * MS, true, false);
	wake_at(8 * MS, OTHER, OTHER, true);
	switch_at(WORKER, 9 * MS, false, false);
	ck_assert_uint_eq(take(WORKER, event, 16), 9);
	ck_woken(&event[1], "waker", MAIN);
	ck_assert_uint_eq(event[2].kind, KERNEL_IN);
	ck_woken(&event[4], "waker 5000002", OTHER);
	ck_woken(&event[7], "outside", 0);
	finish(0);
}

TEST(wait_has_no_waker_of_another_one)
{
	struct kernel_event event[16];

	/* It was woken before it slept at all, and then not seen woken. */
	switch_at(WORKER, 1 * MS, true, false);
	switch_at(WORKER, 2 * MS, false, false);
	wake_at(3 * MS, PID, MAIN, false);
	switch_at(WORKER, 4 * MS, true, false);
	switch_at(WORKER, 5 * MS, false, false);
	/* It only lost its CPU, and then it waited for an instant. */
	switch_at(WORKER, 6 * MS, true, true);
	wake_at(6 * MS, PID, MAIN, false);
	switch_at(WORKER, 7 * MS, false, false);
	switch_at(WORKER, 8 * MS, true, false);
	wake_at(8 * MS, PID, MAIN, false);
	switch_at(WORKER, 8 * MS + 9000, false, false);
	ck_assert_uint_eq(take(WORKER, event, 16), 8);
	for (int i = 0; i < 8; i++)
		ck_assert_uint_ne(event[i].kind, KERNEL_WOKEN);
	finish(0);
}

TEST(long_waits_that_nobody_asked_for_are_missed)
{
	struct cpu_blocked blocked;

	switch_at(WORKER, 10, true, false);
	switch_at(WORKER, 10 + CPU_LONG_NS - 1, false, false);
	ck_assert_uint_eq(g.threads.long_ns, 0);
	switch_at(WORKER, 3 * CPU_LONG_NS, true, false);
	switch_at(WORKER, 5 * CPU_LONG_NS, false, false);
	ck_assert_uint_eq(g.threads.long_ns, 2 * CPU_LONG_NS);
	ck_assert_uint_eq(g.threads.missed_ns, 2 * CPU_LONG_NS);
	switch_at(WORKER, 6 * CPU_LONG_NS, true, false);
	ck_assert_uint_eq(take_blocked(7 * CPU_LONG_NS, &blocked, 1), 1);
	switch_at(WORKER, 9 * CPU_LONG_NS, false, false);
	/* Preempted, so ready to run. */
	switch_at(WORKER, 10 * CPU_LONG_NS, true, true);
	switch_at(WORKER, 20 * CPU_LONG_NS, false, false);
	ck_assert_uint_eq(g.threads.long_ns, 5 * CPU_LONG_NS);
	ck_assert_uint_eq(g.threads.missed_ns, 2 * CPU_LONG_NS);
	finish(0);
}
