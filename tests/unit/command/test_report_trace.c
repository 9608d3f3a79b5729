/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec report --view lock and path of a trace: text and JSON.
 */
#include <errno.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/command/range_command.h"
#include "collector/command/report_trace.h"
#include "collector/output/own_files.h"
#include "tests/unit/scratch.h"
#include "tests/unit/wait_rig.h"

#define LOCK "mutex app+0x40"
#define MUTEX "[mutex app+0x40]"
#define MS UINT64_C(1000000)

static char *g_text;
static size_t g_text_bytes;

static void start(void)
{
	rig_start(4);
}

static void stop(void)
{
	free(g_text);
}

SUITE(scratch_enter, scratch_leave);
FIXTURE(start, stop);

static int print_to_text(const char *view,
			 const struct report_trace_options *wish)
{
	struct report_trace_options options = *wish;
	static const struct range_command all;
	FILE *out = open_memstream(&g_text, &g_text_bytes);
	int err;

	ck_assert_ptr_nonnull(out);
	mkdir("data", 0700);
	scratch_write("data/" TRACE_NAME, g_trace, g_bytes);
	scratch_write("data/" SUMMARY_NAME, "{}", 2);
	options.dir = "data";
	options.range = options.range ?: &all;
	err = report_trace_find(view)->print(&options, out);
	fclose(out);
	return err;
}

static void expect_text(const char *view,
			const struct report_trace_options *wish,
			const char *wanted)
{
	ck_assert_int_eq(print_to_text(view, wish), 0);
	ck_assert_str_eq(g_text, wanted);
}

/* t0 and t2 want a lock that t1 holds in put(), and then t3 in work(). */
static void write_queue(void)
{
	rig_wait(0, MUTEX, "lock=" LOCK ",woken_by=t3", 10 * MS, 50 * MS, 0);
	rig_wait(2, MUTEX, "lock=" LOCK, 20 * MS, 49 * MS, 0);
	rig_hold(1, 0, LOCK, "put", 10 * MS, 40 * MS, 0);
	rig_hold(3, 0, LOCK, "work", 40 * MS, 49 * MS, 0);
	rig_wait(0, "[condition app+0x8]",
		 "lock=condition app+0x8,woken_by=t1,woken_by_tid=101,woken_in="
		 "put",
		 60 * MS, 65 * MS, 5);
	rig_signal(1, "signals condition app+0x8", 65 * MS, 5);
	rig_wait(3, "[sleep]", "", 0, 7 * MS, 0);
}

TEST(report_lock_lists_holders_and_wakers)
{
	write_queue();
	expect_text("lock", &(struct report_trace_options){ .limit = 20 },
		    "\nperfrec: data\n\n"
		    "  blocked    74.0 ms in 3 waits for 2 locks\n"
		    "             7.00 ms in 1 wait for other objects: --view "
		    "wait\n"
		    "\n"
		    "    blocked    waits       mean       held  longest hold  "
		    "lock\n"
		    "    69.0 ms        2    34.5 ms    39.0 ms       30.0 ms "
		    " " LOCK "\n"
		    "       72.5 %   50.0 ms  held in put, thread 101 t1\n"
		    "       26.1 %   18.0 ms  held in work, thread 103 t3\n"
		    "        1.4 %   1.00 ms  hand-over\n"
		    "    5.00 ms        1    5.00 ms          -             -  "
		    "condition app+0x8\n"
		    "      100.0 %   5.00 ms  woken in put, thread 101 t1\n");
}

TEST(report_lock_sorts_and_limits)
{
	write_queue();
	expect_text(
		"lock",
		&(struct report_trace_options){ .limit = 1, .sort = "name" },
		"\nperfrec: data\n\n"
		"  blocked    74.0 ms in 3 waits for 2 locks\n"
		"             7.00 ms in 1 wait for other objects: --view "
		"wait\n"
		"\n"
		"    blocked    waits       mean       held  longest hold  "
		"lock\n"
		"    5.00 ms        1    5.00 ms          -             -  "
		"condition app+0x8\n"
		"      100.0 %   5.00 ms  woken in put, thread 101 t1\n"
		"  (1 of 2 locks; all: --limit 0)\n");
}

/* Returns member @key of object @index of the list @list in g_text. */
static json_int_t json_of(const char *list, size_t index, const char *key)
{
	json_t *root = json_loads(g_text, 0, NULL);
	json_t *row = json_array_get(json_object_get(root, list), index);
	json_int_t number = json_integer_value(json_object_get(row, key));

	ck_assert(json_is_integer(json_object_get(row, key)));
	json_decref(root);
	return number;
}

TEST(report_lock_writes_json)
{
	write_queue();
	ck_assert_int_eq(
		print_to_text("lock",
			      &(struct report_trace_options){ .json = true }),
		0);
	ck_assert_int_eq(json_of("locks", 0, "blocked_ns"), 69 * MS);
	ck_assert_int_eq(json_of("locks", 0, "hand_over_ns"), MS);
	ck_assert_int_eq(json_of("locks", 0, "pid"), 7);
	ck_assert_int_eq(json_of("locks", 1, "timed_out_ns"), 0);
	ck_assert_ptr_nonnull(strstr(g_text, "\"holders\""));
	ck_assert_ptr_nonnull(strstr(g_text, "\"wakers\""));
}

TEST(report_lock_of_a_trace_without_locks_fails)
{
	ck_assert_int_eq(
		print_to_text("lock",
			      &(struct report_trace_options){ .limit = 20 }),
		-ENOENT);
	free(g_text);
	g_text = NULL;
	rig_wait(3, "[sleep]", "", 0, 7 * MS, 0);
	ck_assert_int_eq(
		print_to_text("lock",
			      &(struct report_trace_options){ .limit = 20 }),
		-ENOENT);
}

/* --- view path ------------------------------------------------------------ */

/* t1 puts until 300, and t0 goes on after a hand-over of 20. */
static void write_path(void)
{
	rig_begin(0, MAIN, 0);
	rig_call(0, TAKE, 90 * MS, 350 * MS);
	rig_end(0, 900 * MS);
	rig_call(1, PUT, 40 * MS, 310 * MS);
	rig_wait(0, MUTEX, "lock=" LOCK ",woken_by=t1,woken_in=put", 100 * MS,
		 320 * MS, 9);
	rig_hold(1, 0, LOCK, "put", 60 * MS, 300 * MS, 9);
}

/* clang-format off */
static const char g_path_of_run[] =
"\nperfrec: data\n\n"
"  path       900 ms, of the run\n"
"  unknown    40.0 ms (4.4 %): no record says who started thread 101 t1\n"
"  hand-over  1 time, 20.0 ms: 101 t1 in put ended waits of 100 t0 for " LOCK "\n\n"
"      %       time     on CPU   runnable  hand-over    outside    unknown  thread    function\n"
"   61.1     550 ms          ?          ?       0 ns       0 ns       0 ns  100 t0    main\n"
"   28.9     260 ms          ?          ?       0 ns       0 ns       0 ns  101 t1    put\n"
"  (2 of 3 rows; all: --limit 0)\n";
static const char g_path_of_call[] =
"\nperfrec: data\n\n"
"  path       260 ms, of 1 call of ta*\n"
"  hand-over  1 time, 20.0 ms: 101 t1 in put ended waits of 100 t0 for " LOCK "\n\n"
"      %       time     on CPU   runnable  hand-over    outside    unknown  thread    function\n"
"   80.8     210 ms          ?          ?       0 ns       0 ns       0 ns  101 t1    put\n"
"   19.2    50.0 ms          ?          ?    20.0 ms       0 ns       0 ns  100 t0    take\n";
/* clang-format on */

TEST(report_path_of_the_run)
{
	write_path();
	expect_text("path", &(struct report_trace_options){ .limit = 2 },
		    g_path_of_run);
}

TEST(report_path_of_a_call)
{
	write_path();
	expect_text("path",
		    &(struct report_trace_options){ .limit = 20,
						    .function = "ta*" },
		    g_path_of_call);
}

TEST(report_path_writes_json)
{
	write_path();
	ck_assert_int_eq(
		print_to_text("path",
			      &(struct report_trace_options){ .json = true }),
		0);
	ck_assert_int_eq(json_of("functions", 0, "time_ns"), 550 * MS);
	ck_assert_int_eq(json_of("functions", 1, "ran_ns"), 260 * MS);
	ck_assert_int_eq(json_of("hand_overs", 0, "hand_over_ns"), 20 * MS);
	ck_assert_int_eq(json_of("stops", 0, "unknown_ns"), 40 * MS);
}

static const struct report_trace_options g_pathless[] = {
	{ .function = "no such" }, { .function = "take > 1s" },
	{ .function = "take >" },  { .thread = "t9" },
	{ .thread = "t3" },
};

TEST(report_path_of_nothing_fails, EACH(0, ARRAY_SIZE(g_pathless)))
{
	write_path();
	ck_assert_int_lt(print_to_text("path", &g_pathless[_i]), 0);
	ck_assert_str_eq(g_text, "");
}
