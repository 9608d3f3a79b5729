/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec report --view lock of a trace: its text and its JSON.
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
	rig_wait(0, MUTEX, "lock=" LOCK, 10 * MS, 50 * MS, 0);
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
