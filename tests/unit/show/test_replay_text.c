/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec replay and dump of a trace with switches: each call shows its
 * thread's states.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "collector/export/dump.h"
#include "collector/show/replay_text.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_sched.h"
#include "collector/trace/out_track.h"
#include "tests/unit/trace_rig.h"

#define SEQUENCE 5
#define SWITCHES 6 /* sequence of switches */
#define WAITS 9 /* sequence of waits, and uuid of their track */
#define TID 8
#define MAIN 1
#define LEAF 2
#define LAST 3
#define US UINT64_C(1000)

static char g_path[32];
static int g_fd;

static void write_head(void)
{
	const struct out_name names[] = { { MAIN, "main" },
					  { LEAF, "leaf" },
					  { LAST, "last" } };

	write_trace_head(SEQUENCE, TID, names, ARRAY_SIZE(names));
}

/* main 10..1000: leaf 100..400; then last 1000..1500. */
static void write_calls(void)
{
	write_begin(MAIN, 10 * US);
	write_begin(LEAF, 100 * US);
	write_end(400 * US);
	write_end(1000 * US);
	write_begin(LAST, 1000 * US);
	write_end(1500 * US);
}

static void keep(void *context, const void *packets, size_t bytes)
{
	(void)context;
	ck_assert_uint_le(bytes, sizeof(g_trace) - g_bytes);
	memcpy(g_trace + g_bytes, packets, bytes);
	g_bytes += bytes;
}

/* Runs to 200, preempted to 250, waits 300 to 700, unknown from 1200. */
static void write_switches(void)
{
	struct out_sched *sched;

	ck_assert_int_eq(out_sched_new(2, SWITCHES, keep, NULL, &sched), 0);
	out_sched_in(sched, 0, START_NS, TID);
	out_sched_out(sched, 0, START_NS + 200 * US, TID, OUT_SCHED_PREEMPTED);
	out_sched_in(sched, 1, START_NS + 250 * US, TID);
	out_sched_out(sched, 1, START_NS + 300 * US, TID, OUT_SCHED_BLOCKED);
	out_sched_in(sched, 0, START_NS + 700 * US, TID);
	out_sched_end(sched, START_NS + 1200 * US);
	out_sched_free(&sched);
}

static void write_wait_event(uint32_t type, uint64_t ns, const char *text)
{
	/* track_uuid; then the name, or an argument "perfrec.call". */
	uint8_t fields[64] = { 11 << 3, WAITS };
	size_t bytes = strlen(text);
	struct encode_event event = { .type = type,
				      .absolute = true,
				      .fields = fields };
	struct encoder encoder;

	if (type == 1) {
		memcpy(fields + 2, (uint8_t[]){ 0xba, 1, (uint8_t)bytes }, 3);
		memcpy(fields + 5, text, bytes);
		event.field_bytes = 5 + bytes;
	} else {
		memcpy(fields + 2,
		       (uint8_t[]){ 0x22, (uint8_t)(bytes + 16), 0x52, 12 }, 4);
		memcpy(fields + 6, "perfrec.call", 12);
		memcpy(fields + 18, (uint8_t[]){ 0x32, (uint8_t)bytes }, 2);
		memcpy(fields + 20, text, bytes);
		event.field_bytes = 20 + bytes;
	}
	encoder_init(&encoder, WAITS, 0);
	encoder.out = g_trace + g_bytes;
	encode_event(&encoder, START_NS + ns, &event);
	g_bytes = (size_t)(encoder.out - g_trace);
}

static void write_waits(void)
{
	const struct out_track track = { .uuid = WAITS,
					 .parent = THREAD,
					 .name = OUT_TRACK_WAITS };

	wrote(out_track_track(ROOM, &track));
	wrote(out_track_sequence(ROOM, WAITS));
	write_wait_event(1, 1 * US, "[sleep]");
	write_wait_event(2, 5 * US, "nanosleep");
	write_wait_event(1, 300 * US, "[pipe 7]");
	write_wait_event(2, 390 * US, "read");
}

static void open_file(void)
{
	g_fd = keep_trace(g_bytes, g_path);
}

static void tear_down(void)
{
	close(g_fd);
}

static const struct call_choice g_all = { .sched = true };

static struct call_reader *open_chosen(const struct call_choice *choice)
{
	struct call_reader *reader;

	ck_assert_int_eq(call_reader_open(g_path, choice, &reader), 0);
	return reader;
}

static struct call_reader *open_reader(uint32_t depth)
{
	struct call_choice choice = g_all;

	choice.depth = depth;
	return open_chosen(&choice);
}

/* Closes @reader. */
static void check_text(struct call_reader *reader, size_t columns,
		       const char *wanted)
{
	const struct replay_text_options options = { .columns = columns };
	char *text = NULL;
	size_t bytes;
	uint64_t late;
	FILE *out = open_memstream(&text, &bytes);

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(replay_text_print(reader, &options, out, &late), 0);
	fclose(out);
	ck_assert_str_eq(text, wanted);
	free(text);
	call_reader_close(&reader);
}

static void check_replay(size_t columns, uint32_t depth, const char *wanted)
{
	check_text(open_reader(depth), columns, wanted);
}

/* clang-format off */
static const char g_wide[] =
"       time s         took      on CPU    runnable     blocked   thread  calls\n"
"  0.000000000                                                         8  /* thread worker of process 7 app */\n"
"  0.000000000                                                         8  main() {\n"
"  0.000090000       300 us      150 us     50.0 us      100 us        8    leaf();\n"
"  0.000990000       990 us      540 us     50.0 us      400 us        8  } /* main */\n"
"  0.000990000       500 us    > 200 us           ?           ?        8  last();\n";
static const char g_narrow[] =
"       time s         took      on CPU   thread  calls\n"
"  0.000000000                                 8  /* thread … of process 7 app */\n"
"  0.000000000                                 8  main() {\n"
"  0.000090000       300 us      150 us        8    leaf();\n"
"  0.000990000       990 us      540 us        8  } /* main */\n"
"  0.000990000       500 us    > 200 us        8  last();\n";
static const char g_outermost[] =
"       time s         took      on CPU   thread  calls\n"
"  0.000000000                                 8  /* thread … of process 7 app */\n"
"  0.000000000       990 us      540 us        8  main();\n"
"  0.000990000       500 us    > 200 us        8  last();\n";
static const char g_without[] =
"       time s         took   thread  calls\n"
"  0.000000000                     8  /* thread worker of process 7 app */\n"
"  0.000000000                     8  main() {\n"
"  0.000090000       300 us        8    leaf();\n"
"  0.000990000       990 us        8  } /* main */\n"
"  0.000990000       500 us        8  last();\n";
/* Times count from the first call, even after an earlier wait. */
static const char g_waits[] =
"       time s         took   thread  calls\n"
"  0.000000000                     8  /* thread worker of process 7 app */\n"
"  0.000000000      4.00 us        8  /* waited on [sleep] */\n"
"  0.000000000                     8  main() {\n"
"  0.000090000       300 us        8    leaf();\n"
"  0.000290000      90.0 us        8  /* waited on [pipe 7] */\n"
"  0.000990000       990 us        8  } /* main */\n"
"  0.000990000       500 us        8  last();\n";
static const char g_leaf[] =
"       time s         took   thread  calls\n"
"  0.000090000                     8  /* thread worker of process 7 app */\n"
"  0.000090000       300 us        8  leaf();\n";
/* clang-format on */

FIXTURE(write_head, tear_down);

TEST(replay_text_has_waits_that_are_no_calls)
{
	const char *leaf = "leaf", *pipe = "?pipe*";
	struct call_choice choice = { .functions = &leaf, .function_count = 1 };

	write_waits();
	write_calls();
	open_file();
	check_replay(0, 0, g_waits);
	check_text(open_chosen(&choice), 0, g_leaf);
	choice.functions = &pipe;
	check_text(open_chosen(&choice), 0,
		   "       time s         took   thread  calls\n");
}

TEST(waits_are_with_their_thread)
{
	struct call_choice choice = { .thread = "8" };

	write_waits();
	write_calls();
	open_file();
	check_text(open_chosen(&choice), 0, g_waits);
	choice.thread = "9";
	check_text(open_chosen(&choice), 0,
		   "       time s         took   thread  calls\n");
}

TEST(dump_has_a_line_for_a_wait)
{
	struct call_reader *reader;
	char *text = NULL;
	size_t bytes;
	FILE *out;

	write_calls();
	write_waits();
	open_file();
	reader = open_reader(0);
	out = open_memstream(&text, &bytes);
	ck_assert_int_eq(dump_write(reader, out), 0);
	fclose(out);
	ck_assert_ptr_nonnull(
		strstr(text, "{\"kind\":\"wait\",\"ns\":1000300000,\"track\":1,"
			     "\"name\":\"[pipe 7]\",\"took_ns\":90000,"
			     "\"arguments\":{\"perfrec.call\":\"read\"}}\n"));
	ck_assert_ptr_nonnull(strstr(text, "\"begins\":3,\"ends\":3,"));
	ck_assert_ptr_null(strstr(text, OUT_TRACK_WAITS));
	free(text);
	call_reader_close(&reader);
}

TEST(replay_text_says_what_the_thread_did_in_a_call)
{
	write_calls();
	write_switches();
	open_file();
	check_replay(0, 0, g_wide);
}

TEST(replay_text_of_a_narrow_line_has_what_was_on_a_cpu)
{
	write_switches();
	write_calls();
	open_file();
	check_replay(80, 0, g_narrow);
	check_replay(80, 1, g_outermost);
}

TEST(replay_text_of_a_trace_without_switches_has_no_columns)
{
	write_calls();
	open_file();
	check_replay(0, 0, g_without);
}

TEST(dump_says_what_the_thread_did_in_a_call)
{
	struct call_reader *reader;
	char *text = NULL;
	size_t bytes;
	FILE *out;

	write_calls();
	write_switches();
	open_file();
	reader = open_reader(0);
	out = open_memstream(&text, &bytes);
	ck_assert_int_eq(dump_write(reader, out), 0);
	fclose(out);
	ck_assert_ptr_nonnull(
		strstr(text, "\"took_ns\":300000,\"self_ns\":300000,"
			     "\"on_cpu_ns\":150000,\"preempted_ns\":50000,"
			     "\"waited_ns\":100000,\"unknown_sched_ns\":0}\n"));
	ck_assert_ptr_nonnull(
		strstr(text, "\"on_cpu_ns\":200000,\"preempted_ns\":0,"
			     "\"waited_ns\":0,\"unknown_sched_ns\":300000}\n"));
	/* Stretches follow the events. */
	ck_assert_ptr_nonnull(strstr(
		strstr(text, "\"name\":\"last\""),
		"{\"kind\":\"stretch\",\"ns\":1000000000,\"track\":1,"
		"\"tid\":8,\"cpu\":0,\"took_ns\":200000,"
		"\"then\":\"preempted\"}\n"
		"{\"kind\":\"stretch\",\"ns\":1000250000,\"track\":1,"
		"\"tid\":8,\"cpu\":1,\"took_ns\":50000,\"then\":\"waits\"}\n"
		"{\"kind\":\"stretch\",\"ns\":1000700000,\"track\":1,"
		"\"tid\":8,\"cpu\":0,\"took_ns\":500000,"
		"\"then\":\"unknown\"}\n"
		"{\"kind\":\"totals\""));
	free(text);
	call_reader_close(&reader);
}
