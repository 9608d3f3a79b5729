/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_read() reads the files of summary_write().
 */
#include "collector/files/summary_write.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "collector/base/histogram.h"
#include "collector/options/collect_options.h"
#include "collector/output/own_files.h"
#include "collector/read/summary_read.h"
#include "collector/record/cpu_account.h"
#include "collector/record/recording.h"
#include "collector/record/recording_inner.h"
#include "collector/trace/trace_file.h"
#include "tests/suite.h"

#define DIR_TEMPLATE "/tmp/perfrec-test.XXXXXX"

static struct {
	char dir[sizeof(DIR_TEMPLATE)];
	struct collect_options options;
	struct recording recording;
	struct recording_files files;
} g_test;

static void set_up(void)
{
	memset(&g_test, 0, sizeof(g_test));
	lock_init(&g_test.recording.lock, LOCK_RECORDING);
	strcpy(g_test.dir, DIR_TEMPLATE);
	ck_assert_ptr_nonnull(mkdtemp(g_test.dir));
	g_test.recording.setup.options = &g_test.options;
	g_test.recording.setup.dir_fd =
		open(g_test.dir, O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(g_test.recording.setup.dir_fd, 0);
	g_test.files.trace_name = TRACE_NAME;
}

static void tear_down(void)
{
	own_files_remove(g_test.recording.setup.dir_fd);
	close(g_test.recording.setup.dir_fd);
	function_table_release(&g_test.recording.functions);
	lock_destroy(&g_test.recording.lock);
	ck_assert_int_eq(rmdir(g_test.dir), 0);
}

static struct summary *write_and_read(void)
{
	struct summary *summary = NULL;

	ck_assert_int_eq(summary_write(&g_test.recording, &g_test.files), 0);
	ck_assert_int_eq(summary_read(g_test.dir, &summary), 0);
	return summary;
}

FIXTURE(set_up, tear_down);

TEST(summary_write_of_totals_gives_each_its_place)
{
	struct totals *sum = &g_test.recording.sums.totals;
	struct cpu_sum *cpu_sum = calloc(1, sizeof(*cpu_sum));
	struct summary *summary;

	sum->spans = 10;
	sum->dropped_spans = 11;
	sum->cut_notes = 12;
	sum->unended_async = 13;
	sum->wait_ns = 14;
	sum->heap.live = 15;
	sum->heap.doubled = 16;
	sum->heap.disorders = 17;
	sum->heap.peak_pid = 18;
	sum->lost_cpu_samples = 19;
	g_test.recording.sums.totals.sampled.count = 20;
	g_test.recording.sums.totals.sampled.ns = 21;
	cpu_sum->count = 22;
	cpu_sum->ns = 23;
	g_test.files.cpu_sum = cpu_sum;
	g_test.files.trace_bytes = 24;
	summary = write_and_read();
	ck_assert_uint_eq(summary->totals.spans, 10);
	ck_assert_uint_eq(summary->totals.dropped_spans, 11);
	ck_assert_uint_eq(summary->totals.cut_annotations, 12);
	ck_assert_uint_eq(summary->totals.unended_async_slices, 13);
	ck_assert_uint_eq(summary->totals.wait_ns, 14);
	ck_assert_uint_eq(summary->totals.live_blocks, 15);
	ck_assert_uint_eq(summary->totals.double_frees, 16);
	ck_assert_uint_eq(summary->totals.disordered_heap_records, 17);
	ck_assert_uint_eq(summary->totals.peak_pid, 18);
	ck_assert_uint_eq(summary->totals.lost_cpu_samples, 19);
	ck_assert_uint_eq(summary->totals.cpu_samples, 20);
	ck_assert_uint_eq(summary->totals.cpu_ns, 21);
	ck_assert_uint_eq(summary->totals.unsampled_processes, 22);
	ck_assert_uint_eq(summary->totals.unsampled_process_ns, 23);
	ck_assert_uint_eq(summary->totals.trace_bytes, 24);
	ck_assert_uint_gt(summary->totals.collector_cpu_ns, 0);
	ck_assert_uint_eq(summary->files[0].bytes, 24);
	summary_free(&summary);
	free(cpu_sum);
}

TEST(summary_write_of_an_empty_recording_is_a_recording)
{
	struct summary *summary = write_and_read();

	ck_assert_uint_eq(summary->function_count, 0);
	ck_assert_uint_eq(summary->totals.unsampled_processes, 0);
	ck_assert(!summary->knows_cpu && !summary->exited);
	ck_assert_ptr_null(summary->totals.trace_stopped);
	ck_assert(!summary->totals.trace_limited);
	ck_assert_uint_eq(summary->cost.total_ns, 0);
	ck_assert_str_eq(summary->cost.of, "wall");
	summary_free(&summary);
}

/* A sampled block does not tell its thread's next action. */
TEST(summary_write_knows_temporary_blocks_if_any_were_exact)
{
	struct heap_sums *heap = &g_test.recording.sums.totals.heap;
	struct summary *summary;

	heap->sampled = 5;
	heap->temporary = 3;
	summary = write_and_read();
	ck_assert(!summary->knows_temporary);
	summary_free(&summary);
	unlinkat(g_test.recording.setup.dir_fd, SUMMARY_NAME, 0);
	heap->exact = 1;
	summary = write_and_read();
	ck_assert(summary->knows_temporary);
	ck_assert_uint_eq(summary->totals.temporary_allocs, 3);
	summary_free(&summary);
}

TEST(summary_write_says_why_the_trace_stopped)
{
	struct summary *summary;

	g_test.files.trace_stopped = TRACE_AT_LIMIT;
	g_test.recording.setup.max_bytes = MAX_BYTES_DEFAULT;
	summary = write_and_read();
	ck_assert(summary->totals.trace_limited);
	ck_assert_str_eq(summary->totals.trace_stopped,
			 "4 GiB reached (--max-size may allow more)");
	summary_free(&summary);
	unlinkat(g_test.recording.setup.dir_fd, SUMMARY_NAME, 0);
	g_test.files.trace_stopped = -ENOSPC;
	summary = write_and_read();
	ck_assert(!summary->totals.trace_limited);
	ck_assert_str_eq(summary->totals.trace_stopped,
			 "No space left on device");
	summary_free(&summary);
}

/* Durations are 10 ns, 10 ns and 1000 ns. */
static void add_timed(const char *name, uint64_t recorded)
{
	const struct function_total total = {
		.name = name,
		.module = "/m",
		.calls = recorded,
		.own_self = { .inner = recorded },
	};
	struct histogram durations = { 0 };

	histogram_add(&durations, 10);
	histogram_add(&durations, 1001);
	histogram_add(&durations, 10);
	ck_assert_int_eq(
		function_table_add(&g_test.recording.functions, &total), 0);
	function_table_add_durations(&g_test.recording.functions, name, "/m",
				     &durations);
	ck_assert_uint_eq(durations.octaves, 0);
	/* The table has no such function. */
	histogram_add(&durations, 1);
	function_table_add_durations(&g_test.recording.functions, name, "/n",
				     &durations);
	histogram_release(&durations);
}

TEST(summary_write_of_durations_is_of_all_calls_or_of_none)
{
	struct summary *summary;
	const struct summary_function *known, *lacking;

	add_timed("known", 3);
	add_timed("lacking", 4);
	summary = write_and_read();
	ck_assert_uint_eq(summary->function_count, 2);
	summary_sort(summary, SUMMARY_BY_NAME);
	known = &summary->functions[0];
	ck_assert_uint_eq(known->median_ns, 10);
	ck_assert_uint_eq(known->p99_ns, 1001);
	ck_assert_uint_eq(known->max_ns, 1001);
	ck_assert_str_eq(known->durations, "10:2 1000:1");
	lacking = &summary->functions[1];
	ck_assert_uint_eq(lacking->median_ns, COUNTER_UNKNOWN);
	ck_assert_uint_eq(lacking->p99_ns, COUNTER_UNKNOWN);
	ck_assert_uint_eq(lacking->max_ns, COUNTER_UNKNOWN);
	ck_assert_ptr_null(lacking->durations);
	summary_free(&summary);
}

TEST(summary_write_of_functions_puts_the_longest_first)
{
	const struct own_costs costs = { .inner_ns = 10 };
	struct true_time_sums sums;
	const struct function_total brief = { .name = "brief",
					      .module = "/m",
					      .calls = 1,
					      .measured_self_ns = 5 };
	const struct function_total lengthy = {
		.name = "l\xff",
		.module = "/m",
		.calls = 2,
		.measured_self_ns = 70,
		.measured_total_ns = 80,
		.own_self = { .inner = 2 },
		.own_total = { .inner = 2 },
		.cpu_samples = 7,
		.cpu_ns = 8,
		.alloc_bytes = 9,
		.inuse_bytes = 10,
	};
	struct summary *summary;

	ck_assert_int_eq(
		function_table_add(&g_test.recording.functions, &brief), 0);
	ck_assert_int_eq(
		function_table_add(&g_test.recording.functions, &lengthy), 0);
	function_table_correct(&g_test.recording.functions, &costs, &sums);
	summary = write_and_read();
	ck_assert_uint_eq(summary->function_count, 2);
	ck_assert_str_eq(summary->functions[0].name, "l?");
	ck_assert_uint_eq(summary->functions[0].calls, 2);
	ck_assert_uint_eq(summary->functions[0].self_ns, 50);
	ck_assert_uint_eq(summary->functions[0].total_ns, 60);
	ck_assert_uint_eq(summary->functions[0].measured_self_ns, 70);
	ck_assert_uint_eq(summary->functions[0].measured_total_ns, 80);
	ck_assert_uint_eq(summary->functions[0].cpu_samples, 7);
	ck_assert_uint_eq(summary->functions[0].cpu_ns, 8);
	ck_assert_uint_eq(summary->functions[0].alloc_bytes, 9);
	ck_assert_uint_eq(summary->functions[0].inuse_bytes, 10);
	ck_assert_str_eq(summary->functions[1].name, "brief");
	summary_free(&summary);
}

TEST(summary_write_of_spans_has_their_cost)
{
	struct summary *summary;

	g_test.recording.sums.totals.spans = 1000;
	g_test.recording.sums.totals.left_out_hooks = 12;
	g_test.recording.sums.totals.start_ns = 500;
	g_test.recording.setup.span_ns = 20;
	g_test.recording.sums.command_end = (struct command_end){
		.known = true, .end_ns = 1000000, .user_ns = 100000
	};
	summary = write_and_read();
	ck_assert_double_eq(summary->cost.span_ns, 20);
	ck_assert_uint_eq(summary->cost.left_out_calls, 6);
	ck_assert_double_gt(summary->cost.left_out_ns, 0);
	ck_assert_uint_eq(summary->cost.start_ns, 500);
	ck_assert_uint_gt(summary->cost.total_ns, 20500);
	ck_assert_str_eq(summary->cost.of, "cpu");
	ck_assert_double_gt(summary->cost.share, 0.205);
	ck_assert_double_le(summary->cost.share, 1);
	summary_free(&summary);
}

TEST(summary_write_of_costs_beyond_the_cpu_time_is_capped)
{
	struct summary *summary;

	g_test.recording.sums.totals.spans = 1000;
	g_test.recording.setup.span_ns = 20;
	g_test.recording.sums.command_end = (struct command_end){
		.known = true, .end_ns = 1000000, .user_ns = 20001
	};
	summary = write_and_read();
	ck_assert(!summary->cost.capped);
	summary_free(&summary);
	g_test.recording.sums.command_end.user_ns = 10000;
	summary = write_and_read();
	ck_assert(summary->cost.capped);
	ck_assert_uint_eq(summary->cost.total_ns, 10000);
	ck_assert_double_eq(summary->cost.share, 1);
	summary_free(&summary);
}

TEST(summary_write_of_settings_and_processes_has_all_of_them)
{
	struct thread_entry thread = { .tid = 5, .spans = 6 };
	struct process_entry process = {
		.pid = 3, .parent = -1, .threads = &thread, .instrumented = true
	};
	const char *only[] = { "a*", NULL };
	struct summary *summary;

	g_test.options.filter.only = only;
	g_test.options.filter.only_count = 1;
	g_test.options.control_fd = -1;
	g_test.recording.setup.path = "recordings/app-3.1";
	g_test.options.depth = 7;
	g_test.options.alloc = ALLOC_EXACT;
	g_test.recording.sums.processes = &process;
	summary = write_and_read();
	ck_assert(summary->filtered && summary->settings.attached);
	ck_assert(own_files_is_named(g_test.recording.setup.dir_fd, "app-3.1"));
	ck_assert(!own_files_is_named(g_test.recording.setup.dir_fd, "app-3"));
	ck_assert_uint_eq(summary->settings.depth, 7);
	ck_assert_str_eq(summary->settings.alloc, "exact");
	ck_assert_ptr_null(summary->settings.cpu_engine);
	ck_assert(summary->wants_alloc && !summary->wants_cpu);
	ck_assert(summary->instrumented && summary->running);
	summary_free(&summary);
}

TEST(summary_write_of_hostile_words_is_read_again)
{
	static char cmdline[] = "a\xc3\0\x1b[2J\0";
	struct process_entry process = { .pid = 3,
					 .name = "\xff\n\"",
					 .cmdline = cmdline,
					 .cmdline_bytes = sizeof(cmdline) - 1,
					 .ended = PROCESS_BROKE };
	struct summary *summary;

	g_test.recording.sums.processes = &process;
	g_test.recording.sums.totals.dropped_spans = UINT64_MAX;
	summary = write_and_read();
	ck_assert_str_eq(summary->command[0], "a?");
	ck_assert_str_eq(summary->command[1], "\x1b[2J");
	ck_assert_uint_eq(summary->totals.dropped_spans, INT64_MAX);
	summary_free(&summary);
}

TEST(summary_write_without_a_folder_fails_and_leaves_nothing)
{
	int dir_fd = g_test.recording.setup.dir_fd;

	g_test.recording.setup.dir_fd = -1;
	ck_assert_int_eq(summary_write(&g_test.recording, &g_test.files),
			 -EBADF);
	g_test.recording.setup.dir_fd = dir_fd;
	ck_assert_int_lt(faccessat(dir_fd, SUMMARY_NAME, F_OK, 0), 0);
}
