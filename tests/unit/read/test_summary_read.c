/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/summary_read.h"

#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/show/summary_print.h"
#include "tests/suite.h"

#define DIR_TEMPLATE "/tmp/perfrec-test.XXXXXX"

static char g_dir[sizeof(DIR_TEMPLATE)];
static char g_path[sizeof(g_dir) + 16];
static struct summary *g_summary;
static char *g_text;

static const char sample[] =
	"{\"perfrec\":{\"version\":\"0.1.0\",\"wire\":1},"
	"\"command\":[\"./a b\",\"it's\",\"x=1\"],\"wall_ns\":2000000,"
	"\"user_ns\":1,\"sys_ns\":2,\"exit\":{\"status\":3},"
	"\"totals\":{\"processes\":1,\"threads\":2,\"spans\":1000,"
	"\"span_processes\":1,\"span_threads\":2,"
	"\"dropped_spans\":0,\"trace_stopped\":null},"
	"\"cost\":{\"span_ns\":20.5,\"total_ns\":20500,\"share\":0.5},"
	"\"processes\":[{\"pid\":1,\"instrumented\":true}],"
	"\"functions\":["
	"{\"name\":\"beta\",\"module\":\"/x/m\",\"calls\":1,\"self_ns\":900,"
	"\"total_ns\":1000},"
	"{\"name\":\"gamma\",\"module\":\"/x/m\",\"calls\":9,\"self_ns\":100,"
	"\"total_ns\":100},"
	"{\"name\":\"op[](char*)\",\"module\":\"/x/m\",\"calls\":990,"
	"\"self_ns\":100,\"total_ns\":2000}],"
	"\"files\":[{\"name\":\"trace.pftrace\",\"bytes\":2048}],"
	"\"unheard\":[1]}";

static void set_up(void)
{
	strcpy(g_dir, DIR_TEMPLATE);
	ck_assert_ptr_nonnull(mkdtemp(g_dir));
	snprintf(g_path, sizeof(g_path), "%s/summary.json", g_dir);
	log_init("test", LOG_ERR);
	/* Hides messages about refused files. */
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
}

static void tear_down(void)
{
	summary_free(&g_summary);
	free(g_text);
	unlink(g_path);
	rmdir(g_dir);
}

static int read_text(const char *text, struct summary **out)
{
	FILE *file = fopen(g_path, "w");

	fputs(text, file);
	fclose(file);
	return summary_read(g_dir, out);
}

static struct summary *read_sample(void)
{
	ck_assert_int_eq(read_text(sample, &g_summary), 0);
	return g_summary;
}

/* Valid until the next call. */
static const char *print(struct summary *summary, size_t limit)
{
	struct summary_print_options options = { .dir = "d",
						 .limit = limit,
						 .verbose = true };
	size_t size;
	FILE *out;

	free(g_text);
	out = open_memstream(&g_text, &size);
	ck_assert_int_eq(summary_print(summary, &options, out), 0);
	fclose(out);
	return g_text;
}

#define ck_assert_has(text, part) \
	ck_assert_msg(strstr(text, part), "no '%s' in:\n%s", part, text)
#define ck_assert_has_not(text, part) \
	ck_assert_msg(!strstr(text, part), "'%s' in:\n%s", part, text)

FIXTURE(set_up, tear_down);

TEST(summary_read_of_a_whole_file_has_every_field)
{
	struct summary *summary = read_sample();

	ck_assert_str_eq(summary->command[1], "it's");
	ck_assert_ptr_null(summary->command[3]);
	ck_assert_uint_eq(summary->wall_ns, 2000000);
	ck_assert_uint_eq(summary->sys_ns, 2);
	ck_assert(summary->knows_cpu);
	ck_assert(summary->exited);
	ck_assert_int_eq(summary->exit_status, 3);
	ck_assert_uint_eq(summary->totals.spans, 1000);
	ck_assert_ptr_null(summary->totals.trace_stopped);
	ck_assert(summary->instrumented);
	ck_assert_double_eq(summary->cost.span_ns, 20.5);
	ck_assert_uint_eq(summary->cost.total_ns, 20500);
	ck_assert_uint_eq(summary->function_count, 3);
	ck_assert_uint_eq(summary->functions[0].total_ns, 1000);
	ck_assert_uint_eq(summary->files[0].bytes, 2048);
	summary_free(&g_summary);
	ck_assert_ptr_null(g_summary);
}

TEST(summary_read_of_a_file_with_less_has_zeros)
{
	struct summary *summary;

	ck_assert_int_eq(read_text("{\"perfrec\":{},\"totals\":{}}", &summary),
			 0);
	ck_assert(!summary->exited && !summary->knows_cpu);
	ck_assert_ptr_null(summary->command[0]);
	ck_assert_uint_eq(summary->function_count, 0);
	print(summary, 0);
	summary_free(&summary);
}

TEST(summary_read_of_nonsense_is_refused)
{
	struct summary *summary = NULL;

	for (size_t size = 0; size < sizeof(sample) - 1; size += 7) {
		char *cut = strndup(sample, size);

		ck_assert_int_eq(read_text(cut, &summary), -EBADMSG);
		free(cut);
	}
	ck_assert_int_eq(
		read_text("{\"perfrec\":{},\"totals\":{\"spans\":\"\"}}",
			  &summary),
		-EBADMSG);
	ck_assert_int_eq(summary_read("/nowhere", &summary), -ENOENT);
	ck_assert_ptr_null(summary);
}

TEST(summary_sort_puts_the_largest_first)
{
	struct summary *summary = read_sample();

	ck_assert_str_eq(summary->functions[0].name, "beta");
	ck_assert_str_eq(summary->functions[1].name, "gamma");
	summary_sort(summary, SUMMARY_BY_TOTAL);
	ck_assert_str_eq(summary->functions[0].name, "op[](char*)");
	summary_sort(summary, SUMMARY_BY_CALLS);
	ck_assert_str_eq(summary->functions[2].name, "beta");
	summary_sort(summary, SUMMARY_BY_NAME);
	ck_assert_str_eq(summary->functions[1].name, "gamma");
}

TEST(summary_write_json_keeps_all_but_the_cut_functions)
{
	struct summary *summary = read_sample();
	json_t *was = json_loads(sample, 0, NULL), *now, *first;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	summary_sort(summary, SUMMARY_BY_CALLS);
	ck_assert_int_eq(summary_write_json(summary, 1, out), 0);
	fclose(out);
	now = json_loads(text, 0, NULL);
	ck_assert_uint_eq(json_array_size(json_object_get(now, "functions")),
			  1);
	first = json_array_get(json_object_get(now, "functions"), 0);
	ck_assert_str_eq(json_string_value(json_object_get(first, "short")),
			 summary->functions[0].name);
	json_object_del(first, "short");
	ck_assert(json_equal(
		first, json_array_get(json_object_get(was, "functions"), 2)));
	json_object_set(now, "functions", json_object_get(was, "functions"));
	ck_assert_int_eq(json_integer_value(json_object_get(now, "version")),
			 1);
	json_object_set(now, "version", json_object_get(was, "version"));
	if (!json_object_get(was, "version"))
		json_object_del(now, "version");
	ck_assert(json_equal(was, now));
	/* The summary itself is unchanged. */
	ck_assert_str_eq(summary->functions[2].name, "beta");
	json_decref(was);
	json_decref(now);
	free(text);
}

TEST(summary_print_tells_the_run_and_its_functions)
{
	struct summary *summary = read_sample();
	const char *text = print(summary, 2);

	ck_assert_has(text, "'./a b' 'it'\\''s' x=1  (exit status 3)");
	ck_assert_has(text, "wall time  2.00 ms");
	ck_assert_has(text, "1,000 calls of 2 threads in 1 process\n");
	ck_assert_has(text, "lost       nothing");
	ck_assert_has(text, "81.8    1.00 us  beta\n");
	ck_assert_has(text, "(2 of 3 functions; all: perfrec report --limit 0");
	ck_assert_has(text, "2.00 KiB  trace.pftrace");
}

TEST(summary_print_tells_whose_each_figure_is)
{
	static const char several[] =
		"{\"perfrec\":{},\"totals\":{\"processes\":9,\"threads\":9,"
		"\"spans\":5,\"span_processes\":1,\"span_threads\":1,"
		"\"allocs\":10,\"alloc_bytes\":9216,\"heap_processes\":3,"
		"\"peak_bytes\":1024,\"peaks_bytes\":2048,"
		"\"peak_program\":\"big\\u001b\",\"live_blocks\":4,"
		"\"live_bytes\":8192,\"refused_programs\":7,\"went_on\":4},"
		"\"refused\":[{\"why\":\"it is shy\",\"programs\":6,"
		"\"name\":\"su\"},{\"why\":\"it is late\",\"programs\":1}],"
		"\"went_on\":[{\"pid\":4,\"name\":\"nginx\"},{\"pid\":5,"
		"\"name\":\"sh\"},{\"pid\":6,\"name\":\"nginx\"},{\"pid\":7}],"
		"\"settings\":{\"alloc\":\"exact\"}}";
	struct summary *summary;
	const char *text;

	ck_assert_int_eq(read_text(several, &summary), 0);
	text = print(summary, 0);
	ck_assert_has(text, "recorded   5 calls of 1 thread in 1 process\n");
	ck_assert_has(text, "allocated  10 blocks, 9.00 KiB, in 3 processes; "
			    "not freed: 4 blocks, 8.00 KiB\n");
	ck_assert_has(text, "at peak    2.00 KiB, each process at its own; at "
			    "most 1.00 KiB in one: big?\n");
	ck_assert_has(text, "lost       6 of the programs (the first was su): "
			    "it is shy\n");
	ck_assert_has(text, "lost       1 of the programs: it is late\n");
	ck_assert_has(text,
		      "note       4 processes went on unrecorded when the "
		      "recording ended: nginx (2), sh, ");
	summary_free(&summary);
}

TEST(summary_print_tells_of_cpu_time_and_memory)
{
	static const char metrics[] =
		"{\"perfrec\":{},\"totals\":{\"processes\":1,"
		"\"cpu_samples\":1234,\"cpu_ns\":2500000000,"
		"\"lost_cpu_samples\":3,\"allocs\":1,\"alloc_bytes\":2048,"
		"\"peak_bytes\":1024,\"live_blocks\":2,\"live_bytes\":7,"
		"\"dropped_allocs\":4,\"dropped_frees\":5,"
		"\"double_frees\":1},"
		"\"notes\":[\"some\\u001b[31m trouble\"],"
		"\"cost\":{\"total_ns\":5000,\"heap_record_ns\":9.5,"
		"\"sample_ns\":1500,\"share\":0.25},"
		"\"settings\":{\"alloc\":\"auto\",\"cpu_hz\":99},"
		"\"processes\":[{\"ended\":\"exit\"}]}";
	struct summary *summary;
	const char *text;

	ck_assert_int_eq(read_text(metrics, &summary), 0);
	text = print(summary, 0);
	ck_assert_has(text, "CPU time   2.50 s in 1,234 samples");
	ck_assert_has(text, "allocated  about 1 block, 2.00 KiB; at most 1.00 "
			    "KiB at once; not freed: 2 blocks, 7 B\n");
	ck_assert_has(text, "lost       4 allocations: the ring was full");
	ck_assert_has(text, "lost       5 frees: the ring was full, so freed");
	ck_assert_has(text, "lost       3 samples of CPU time");
	ck_assert_has(text, "freed      1 block more than once");
	ck_assert_has(text, "note       some?[31m trouble\n");
	ck_assert_has(text,
		      "own cost   about 25.0 % of the run, 5.00 us\n"
		      "             9.5 ns an allocation or free, 1.50 us "
		      "a sample\n");
	ck_assert_has(text, "so there are no calls: see perfrec report --view "
			    "cpu and --view heap.\n");
	summary->settings.sched = true;
	summary->totals.sched_threads = 1;
	text = print(summary, 0);
	ck_assert_has(text, "so there are no calls: see perfrec report --view "
			    "cpu, --view heap and --view wait.\n");
	ck_assert_has_not(text, "waited for");
	summary->knows_cpu = true;
	summary->user_ns = 1900000000;
	ck_assert_has(print(summary, 0),
		      "of all processes; user and system count only");
	/* Exact numbers have no "about". */
	summary->estimates = false;
	ck_assert_has(print(summary, 0), "allocated  1 block,");
	summary_free(&summary);
}

TEST(summary_print_counts_a_surplus_once)
{
	static const char times[] =
		"{\"perfrec\":{},\"totals\":{\"sched_threads\":1,"
		"\"surplus_threads_ns\":241000000,"
		"\"surplus_functions_ns\":239000000,"
		"\"surplus_silent_ns\":10000000},"
		"\"settings\":{\"sched\":true},"
		"\"processes\":[{\"ended\":\"exit\"}]}";
	struct summary *summary;

	ck_assert_int_eq(read_text(times, &summary), 0);
	ck_assert_has(print(summary, 0),
		      "  251 ms on CPUs shown as unknown: the kernel");
	summary_free(&summary);
}

TEST(summary_print_of_an_unknown_end_claims_nothing)
{
	static const char attached[] =
		"{\"perfrec\":{},\"totals\":{\"spans\":1},"
		"\"user_ns\":null,\"sys_ns\":null,\"exit\":null,"
		"\"settings\":{\"attached\":true},"
		"\"processes\":[{\"ended\":\"exit\"},"
		"{\"ended\":\"exec\"}]}";
	struct summary *summary;
	const char *text;

	ck_assert_int_eq(read_text(attached, &summary), 0);
	text = print(summary, 0);
	ck_assert_has(text, "(attached: exit status unknown)");
	ck_assert_has(text, "wall time  0 ns\n");
	ck_assert_has(text, "% of the run,");
	summary->settings.attached = false;
	ck_assert_has(print(summary, 0), "(exit status unknown)");
	summary_free(&summary);

	ck_assert_int_eq(read_text("{\"perfrec\":{},\"totals\":{},"
				   "\"processes\":[{\"ended\":\"exit\"},"
				   "{\"ended\":\"running\"}]}",
				   &summary),
			 0);
	ck_assert_has(print(summary, 0),
		      "(recording ended before the program did)");
	summary_free(&summary);
}

TEST(summary_print_when_recording_slowed_it_says_what_to_do)
{
	struct summary *summary = read_sample();
	const char *text;

	summary->cost.dilation = 2.04;
	summary->totals.threads = 1;
	text = print(summary, 0);
	ck_assert_has(text, "own cost   about 50.0 % of the CPU time, 20.5 us\n"
			    "             20.5 ns a call\n");
	ck_assert_has(text,
		      "\n  trust      poor: recording made this run about "
		      "2.0 x slower\n             next: ");
	ck_assert_has(text, "--overhead 5%");
	ck_assert_has_not(text, "self time*");
	summary->totals.threads = 2;
	summary->cost.dilation = 200;
	text = print(summary, 0);
	ck_assert_has(text, "at least 50 x slower\n");
	ck_assert_has(text, "blocked times include waits");
	ck_assert_has(text, "self time*");
	summary->settings.overhead = 0.05;
	text = print(summary, 0);
	ck_assert_has_not(text, "--overhead");
	ck_assert_has(text, "--hooks=entry");
	summary->settings.overhead = 0;
	summary->cost.dilation = 1.29;
	text = print(summary, 0);
	ck_assert_has_not(text, "slower");
	ck_assert_has_not(text, "--overhead");
}

TEST(summary_print_says_when_times_are_rough)
{
	struct summary *summary = read_sample();
	uint64_t left = 0;
	const char *text;

	for (size_t i = 0; i < summary->function_count; i++)
		left += summary->functions[i].self_ns;
	summary->totals.wait_ns = 1000;
	summary->cost.subtracted_ns = left + 1000;
	text = print(summary, 0);
	ck_assert_has(text, "times      are without the ");
	ck_assert_has_not(text, "rough");
	summary->cost.subtracted_ns++;
	ck_assert_has(print(summary, 0),
		      "that is more than is left: times of small "
		      "functions are rough");
}

TEST(summary_print_marks_functions_that_were_muted)
{
	struct summary *summary = read_sample();
	struct summary_function *one = &summary->functions[0];
	const char *text;

	for (size_t i = 0; i < summary->function_count; i++) {
		summary->functions[i].state = "span";
		summary->functions[i].recorded = summary->functions[i].calls;
	}
	ck_assert_has_not(print(summary, 0), "mean");
	/* 30 of 300 calls took 21 us together. */
	one->state = "counted";
	one->calls = 300;
	one->recorded = 30;
	one->self_ns = 1000000;
	one->total_ns = 21000;
	summary->functions[1].state = "off";
	summary->totals.functions_counted = 1;
	summary->totals.functions_off = 1;
	summary->totals.counted_calls = 1000;
	text = print(summary, 0);
	ck_assert_has(text, "counted    50.0 % of 2,000 calls have no times of "
			    "their own; at the end 1 function only counted, 1 "
			    "off (whose calls since then are not counted)\n");
	ck_assert_has(text, "~210 us     700 ns  c  ");
	ck_assert_has(text, "  o  ");
	ck_assert_has(text, "c = all calls counted");
	ck_assert_has(text, "o = switched off");
	ck_assert_has_not(text, "       ?  o  ");
	/* "o" is off, "?" an unknown number: off from the start. */
	summary->functions[1].calls = summary->functions[1].recorded = 0;
	ck_assert_has(print(summary, 0), "       ?  o  ");
	/* With all functions on, all calls are known. */
	summary->totals.functions_off = 0;
	ck_assert_has(print(summary, 0),
		      "50.0 % of 2,000 calls have no times of their own");
	/* Fewer calls give no estimate. */
	one->recorded = 29;
	ck_assert_has(print(summary, 0), ">21.0 us     724 ns  c  ");
	/* The same for an estimate above all measured time. */
	one->recorded = 30;
	one->calls = 1000000000;
	ck_assert_has(print(summary, 0), ">21.0 us     700 ns  c  ");
}

static bool begins_with_over(const char *text)
{
	const char *over = strstr(text, "  over budget  ");

	return over && over < strstr(text, "  wall time  ");
}

TEST(summary_print_says_first_that_a_budget_was_not_kept)
{
	struct summary *summary = read_sample();
	struct summary_totals *totals = &summary->totals;
	struct summary_cost *cost = &summary->cost;
	const char *text;

	totals->overhead_reached = 0.17;
	text = print(summary, 0);
	ck_assert_has_not(text, "budget"); /* there was no budget */
	summary->settings.overhead = 0.05;
	cost->hooks_ns = 100000;
	text = print(summary, 0);
	ck_assert(begins_with_over(text));
	ck_assert_has(text, "  over budget  this run took about 17 % more CPU "
			    "time than the program without perfrec, not 5 %: "
			    "the next run knows what is called most\n");
	ck_assert_has(text, " 17.0 % of the CPU time without perfrec; the "
			    "budget was 5 %\n");
	/* The program's time is less than the error of the cost. */
	totals->overhead_reached = 22;
	text = print(summary, 0);
	ck_assert_has(text, "  over budget  this run took at least 92 % more "
			    "CPU time than the program without perfrec, not 5 "
			    "%: ");
	ck_assert_has(text, " at least 92 % of the CPU time without perfrec; "
			    "the budget was 5 %\n");
	totals->overhead_reached = 0.17;
	summary->settings.no_cache = true;
	ck_assert_has(print(summary, 0), "called most, without --no-cache\n");
	totals->functions_recalled = 1;
	ck_assert_has(print(summary, 0),
		      "not 5 %: exclude what is called most");
	totals->functions_hooked = 1;
	text = print(summary, 0);
	ck_assert_has(text, "not 5 %: build with perfrec cc --hooks=entry, or");
	ck_assert_has_not(text, "is the calls build itself");
	cost->build_ns = 50000;
	ck_assert_has(print(summary, 0),
		      "50.0 us of it is the calls build itself");
	totals->patch_ns = 200000;
	text = print(summary, 0);
	ck_assert_has(text, "not 5 %: most of it is the start");
	ck_assert_has(text, "with 200 us to connect functions: 17.0 %");
	cost->switches_ns = 300000;
	ck_assert_has(print(summary, 0), "(--sched off)\n");
	/* A budget of 5 % tolerates 5.2 %. */
	totals->overhead_reached = 0.052;
	text = print(summary, 0);
	ck_assert_has_not(text, "over budget");
	ck_assert_has(text, " 5.2 % of the CPU time without perfrec; the "
			    "budget was 5 %\n");
	ck_assert_has_not(text, "the start waited");
	totals->held_ns = 90000000;
	ck_assert_has(print(summary, 0),
		      "the start waited 90.0 ms until functions were "
		      "connected\n");
}

TEST(summary_print_says_what_was_subtracted)
{
	struct summary *summary = read_sample();
	const char *text = print(summary, 0);

	ck_assert_has_not(text, "  times ");
	summary->cost.subtracted_ns = 5000;
	ck_assert_has(print(summary, 0),
		      "without the 5.00 us that perfrec took in them");
}

TEST(summary_print_when_something_is_lost_says_how_much)
{
	struct summary *summary = read_sample();
	const char *text;

	summary->totals.dropped_spans = 1234;
	summary->totals.trace_stopped = "--max-size is reached";
	summary->totals.refused_programs = 2;
	text = print(summary, 0);
	ck_assert_has(text, "lost       1,234 calls");
	ck_assert_has(text, "lost       2 of the programs");
	ck_assert_has(text, "rest of the trace: --max-size is reached");
	ck_assert_has_not(text, "nothing");
}

TEST(summary_print_when_nothing_is_instrumented_says_how_to_rebuild)
{
	struct summary *summary = read_sample();

	summary->totals.spans = 0;
	summary->instrumented = false;
	ck_assert_has(print(summary, 0), "perfrec cc gcc -g");
}

TEST(summary_print_of_hostile_names_has_no_control_characters)
{
	struct summary *summary = read_sample();

	summary->functions[0].name = "a\033[2J\nb\x7f\xc2\x9b\xc3\xa9";
	ck_assert_has(print(summary, 0), "a?[2J?b??\xc3\xa9\n");
}
