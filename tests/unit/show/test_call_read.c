/* SPDX-License-Identifier: Apache-2.0
 *
 * call_read: the chosen calls of a trace, and the order of their begins and
 * ends.
 */
#include "collector/show/call_read.h"

#include <sys/mman.h>
#include <unistd.h>

#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "tests/unit/trace_rig.h"

#define SEQUENCE 5
#define MAIN 1
#define LEAF 2
#define DEEP 3
#define STATES 301 /* a track of instants */
#define OTHER 302
#define INSTANTS_SEQUENCE 6

static char g_path[32];
static int g_fd;

/* main 10..1000: leaf 20..25, leaf 100..400: deep 200..350; leaf 900..905 */
static void write_trace(void)
{
	const struct out_name names[] = { { MAIN, "main" },
					  { LEAF, "leaf" },
					  { DEEP, "deep" } };

	write_trace_head(SEQUENCE, 8, names, ARRAY_SIZE(names));
	write_begin(MAIN, 10);
	write_begin(LEAF, 20);
	write_end(25);
	write_begin(LEAF, 100);
	write_begin(DEEP, 200);
	write_end(350);
	write_end(400);
	write_begin(LEAF, 900);
	write_end(905);
	write_end(1000);
}

/* Appends an instant at 500 on perfrec's track of function states, and an
 * instant at 600 on another track. */
static void add_instants(void)
{
	const struct out_track states = {
		.uuid = STATES,
		.parent = PROCESS,
		.name = "perfrec: states of functions",
	};
	const struct out_track other = { .uuid = OTHER,
					 .parent = PROCESS,
					 .name = "requests" };

	g_bytes = 0;
	wrote(out_track_track(ROOM, &states));
	wrote(out_track_track(ROOM, &other));
	wrote(out_track_sequence(ROOM, INSTANTS_SEQUENCE));
	wrote(out_track_instant(ROOM, INSTANTS_SEQUENCE, STATES, START_NS + 500,
				"leaf off"));
	wrote(out_track_instant(ROOM, INSTANTS_SEQUENCE, OTHER, START_NS + 600,
				"request"));
	ck_assert_int_eq(write(g_fd, g_trace, g_bytes), (ssize_t)g_bytes);
}

static void set_up(void)
{
	write_trace();
	g_fd = keep_trace(g_bytes, g_path);
}

static void tear_down(void)
{
	close(g_fd);
}

/* Appends @event to @text: "main@10 " begins, "/main@1000 " ends, and
 * "!request@600 " is an instant. A '.' precedes it for each shown call around
 * it. */
static void tell(const struct call_reader *reader,
		 const struct call_event *event, FILE *text)
{
	for (uint32_t i = 0; i < event->depth; i++)
		fputc('.', text);
	fprintf(text, "%s%s@%d ",
		event->event.kind == TRACE_END	     ? "/"
		: event->event.kind == TRACE_INSTANT ? "!"
						     : "",
		trace_reader_text(call_reader_trace(reader), event->event.name),
		(int)(event->event.ns - START_NS));
}

static void check_calls(const struct call_choice *choice, const char *expected)
{
	struct call_reader *reader;
	struct call_event event;
	char told[512] = "";
	FILE *text = fmemopen(told, sizeof(told), "w");

	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(call_reader_open(g_path, choice, &reader), 0);
	while (call_reader_next(reader, &event) > 0)
		if (event.event.kind == TRACE_BEGIN ||
		    event.event.kind == TRACE_END ||
		    event.event.kind == TRACE_INSTANT)
			tell(reader, &event, text);
	ck_assert_int_eq(fclose(text), 0);
	ck_assert_str_eq(told, expected);
	call_reader_close(&reader);
	ck_assert_ptr_null(reader);
}

FIXTURE(set_up, tear_down);

TEST(no_choice_gives_every_call)
{
	check_calls(&(struct call_choice){ 0 },
		    "main@10 .leaf@20 ./leaf@25 .leaf@100 ..deep@200 "
		    "../deep@350 ./leaf@400 .leaf@900 ./leaf@905 /main@1000 ");
}

TEST(short_calls_are_left_out_and_begins_around_long_ones_come_first)
{
	check_calls(&(struct call_choice){ .min_ns = 5 },
		    "main@10 .leaf@20 ./leaf@25 .leaf@100 ..deep@200 "
		    "../deep@350 ./leaf@400 .leaf@900 ./leaf@905 /main@1000 ");
	check_calls(&(struct call_choice){ .min_ns = 150 },
		    "main@10 .leaf@100 ..deep@200 ../deep@350 ./leaf@400 "
		    "/main@1000 ");
	check_calls(&(struct call_choice){ .min_ns = 151 },
		    "main@10 .leaf@100 ./leaf@400 /main@1000 ");
	check_calls(&(struct call_choice){ .min_ns = 991 }, "");
}

TEST(range_gives_the_calls_of_which_a_part_lies_in_it)
{
	check_calls(&(struct call_choice){ .range = { START_NS + 210,
						      START_NS + 810 } },
		    "main@10 .leaf@100 ..deep@200 ../deep@350 ./leaf@400 "
		    "/main@1000 ");
}

/* A begin in the range came before those of its callers, and its end after. */
TEST(callers_of_a_call_that_begins_in_the_range_come_first)
{
	const struct call_choice choice = {
		.range = { START_NS + 150, START_NS + 1001 },
	};

	check_calls(&choice, "main@10 .leaf@100 ..deep@200 ../deep@350 "
			     "./leaf@400 .leaf@900 ./leaf@905 /main@1000 ");
}

TEST(depth_leaves_out_what_is_nested_deeper)
{
	check_calls(&(struct call_choice){ .depth = 1 }, "main@10 /main@1000 ");
	check_calls(&(struct call_choice){ .depth = 2 },
		    "main@10 .leaf@20 ./leaf@25 .leaf@100 ./leaf@400 "
		    ".leaf@900 ./leaf@905 /main@1000 ");
}

TEST(function_gives_its_calls_and_what_they_call)
{
	static const char *const leaf[] = { "lea*" };
	static const char *const deep[] = { "deep" };

	check_calls(
		&(struct call_choice){ .functions = leaf, .function_count = 1 },
		"leaf@20 /leaf@25 leaf@100 .deep@200 ./deep@350 /leaf@400 "
		"leaf@900 /leaf@905 ");
	check_calls(
		&(struct call_choice){ .functions = deep, .function_count = 1 },
		"deep@200 /deep@350 ");
}

TEST(thread_is_chosen_by_number_or_name)
{
	const char *const deep[] = { "deep" };
	struct call_choice choice = { .functions = deep, .function_count = 1 };

	choice.thread = "8";
	check_calls(&choice, "deep@200 /deep@350 ");
	choice.thread = "worker";
	check_calls(&choice, "deep@200 /deep@350 ");
	choice.thread = "9";
	check_calls(&choice, "");
}

/* Changes of function states concern all threads. */
TEST(a_thread_has_the_states_of_functions)
{
	static const char *const deep[] = { "deep" };
	struct call_choice choice = { .functions = deep, .function_count = 1 };

	add_instants();
	check_calls(&choice, "deep@200 /deep@350 !leaf off@500 !request@600 ");
	choice.thread = "worker";
	check_calls(&choice, "deep@200 /deep@350 !leaf off@500 ");
	choice.range.to_ns = START_NS + 500;
	check_calls(&choice, "deep@200 /deep@350 ");
	choice.range.to_ns = START_NS + 501;
	check_calls(&choice, "deep@200 /deep@350 !leaf off@500 ");
	choice.calls_only = true;
	check_calls(&choice, "deep@200 /deep@350 ");
}
