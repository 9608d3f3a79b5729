/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec replay and dump of waits for locks: they name the holder, and holds are
 * no waits.
 */
#include "collector/export/dump.h"
#include "collector/show/replay_text.h"
#include "tests/unit/wait_rig.h"

#define MUTEX "[mutex app+0x40]"
#define US UINT64_C(1000)

static char *g_text;
static size_t g_text_bytes;

static void write_lock_waits(void)
{
	rig_wait(0, MUTEX,
		 "lock=mutex app+0x40,held_by=t1,held_by_tid=101,held_in=put,"
		 "woken_by=t1",
		 300 * US, 400 * US, 3);
	rig_wait(0, MUTEX, "lock=mutex app+0x40,result=timed out", 500 * US,
		 600 * US, 0);
	rig_wait(0, "[condition app+0x8]",
		 "lock=condition app+0x8,woken_by=t1,woken_by_tid=101,woken_in="
		 "put,held_by=unknown",
		 700 * US, 800 * US, 4);
	rig_hold(1, 0, "mutex app+0x40", "put", 250 * US, 390 * US, 3);
	rig_signal(1, "signals condition app+0x8", 790 * US, 4);
	rig_call(0, MAIN, 100 * US, 900 * US);
}

static void start(void)
{
	rig_start(2);
	write_lock_waits();
}

static void stop(void)
{
	free(g_text);
}

static struct call_reader *open_rig(const struct call_choice *choice)
{
	struct call_reader *reader;
	char path[32];
	int fd = keep_trace(g_bytes, path);

	ck_assert_int_eq(call_reader_open(path, choice, &reader), 0);
	close(fd);
	return reader;
}

static void check_replayed(const struct call_choice *choice, const char *wanted)
{
	const struct replay_text_options options = { .columns = 0 };
	struct call_reader *reader = open_rig(choice);
	FILE *out = open_memstream(&g_text, &g_text_bytes);
	uint64_t late;

	ck_assert_int_eq(replay_text_print(reader, &options, out, &late), 0);
	fclose(out);
	call_reader_close(&reader);
	ck_assert_str_eq(g_text, wanted);
	ck_assert_uint_eq(late, 0);
}

FIXTURE(start, stop);

/* clang-format off */
static const char g_all[] =
"       time s         took   thread  calls\n"
"  0.000000000                   100  /* thread t0 of process 7 app */\n"
"  0.000000000       800 us      100  main();\n"
"  0.000200000       100 us      100  /* waited on " MUTEX ", held by t1 in put */\n"
"  0.000400000       100 us      100  /* waited on " MUTEX ", timed out */\n"
"  0.000600000       100 us      100  /* waited on [condition app+0x8], woken by t1 in put */\n";
static const char g_part[] =
"       time s         took   thread  calls\n"
"  0.000000000                   100  /* thread t0 of process 7 app */\n"
"  0.000000000       800 us      100  main();\n"
"  0.000200000       100 us      100  /* waited on " MUTEX ", held by t1 in put */\n";
/* clang-format on */

TEST(replay_names_the_holder_or_the_waker)
{
	check_replayed(&(struct call_choice){ 0 }, g_all);
}

/* The wait began before the range, so its start is read late. */
TEST(replay_of_a_range_names_the_holder)
{
	check_replayed(
		&(struct call_choice){
			.range = { START_NS + 350 * US, START_NS + 450 * US } },
		g_part);
}

TEST(dump_has_all_arguments_of_a_wait)
{
	struct call_reader *reader = open_rig(&(struct call_choice){ 0 });
	FILE *out = open_memstream(&g_text, &g_text_bytes);

	ck_assert_int_eq(dump_write(reader, out), 0);
	fclose(out);
	call_reader_close(&reader);
	ck_assert_ptr_nonnull(strstr(
		g_text,
		"\"name\":\"" MUTEX "\",\"took_ns\":100000,"
		"\"arguments\":{\"lock\":\"mutex app+0x40\",\"held_by\":\"t1\","
		"\"held_by_tid\":101,\"held_in\":\"put\",\"woken_by\":\"t1\"}"
		"}"));
	ck_assert_ptr_null(strstr(g_text, "holds mutex"));
}
