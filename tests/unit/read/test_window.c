/* SPDX-License-Identifier: Apache-2.0
 *
 * window and time_range: events of a range in their order, and valid ranges.
 */
#include "collector/read/trace_bounds.h"
#include "collector/read/window.h"

#include <sys/mman.h>
#include <unistd.h>

#include "collector/base/size.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "tests/unit/trace_rig.h"

#define SEQUENCE 5
#define SECOND_SEQUENCE 6
#define SECOND 23 /* uuid of the second thread */
#define COUNTER 24
#define IDLE 25 /* uuid of a thread without events */
#define IDLE_SEQUENCE 8
#define INSTANTS_SEQUENCE 7
#define MAIN 1
#define LEAF 2
#define DEEP 3
#define LATE 4

static char g_path[32];
static int g_fd;

static void write_head(void)
{
	const struct out_clocks clocks = { .boottime = START_NS };
	const uint8_t uuid[16] = { 1 };
	const struct out_process process = { .uuid = PROCESS,
					     .pid = 7,
					     .name = "app" };
	const struct out_thread thread = { .uuid = THREAD,
					   .sequence = SEQUENCE,
					   .pid = 7,
					   .tid = 8,
					   .name = "worker",
					   .start_ns = START_NS };
	const struct out_thread second = { .uuid = SECOND,
					   .sequence = SECOND_SEQUENCE,
					   .pid = 7,
					   .tid = 9,
					   .name = "second",
					   .start_ns = START_NS };
	const struct out_thread idle = { .uuid = IDLE,
					 .sequence = IDLE_SEQUENCE,
					 .pid = 7,
					 .tid = 10,
					 .name = "idle",
					 .start_ns = START_NS };
	const struct out_name names[] = { { MAIN, "main" },
					  { LEAF, "leaf" },
					  { DEEP, "deep" },
					  { LATE, "late" } };
	const struct out_counter counter = { .uuid = COUNTER,
					     .parent = PROCESS,
					     .name = "things",
					     .multiplier = 1 };

	wrote(out_perfetto_preamble(ROOM, &clocks, uuid, NULL, 0));
	wrote(out_perfetto_process(ROOM, &process));
	wrote(out_perfetto_thread(ROOM, &thread));
	wrote(out_perfetto_names(ROOM, SEQUENCE, names, ARRAY_SIZE(names)));
	wrote(out_perfetto_thread(ROOM, &second));
	wrote(out_perfetto_thread(ROOM, &idle));
	wrote(out_perfetto_names(ROOM, SECOND_SEQUENCE, names,
				 ARRAY_SIZE(names)));
	wrote(out_track_counter(ROOM, &counter));
	wrote(out_track_sequence(ROOM, INSTANTS_SEQUENCE));
}

/* worker: main 10..1000: leaf 20..25, leaf 100..400: deep 200..350;
 *         leaf 900..905; an instant at 500
 * second: late 5..          (its slice has no end), leaf 30..30
 * The file has the worker first. */
static void write_trace(void)
{
	g_bytes = 0;
	write_head();
	encoder_init(&g_encoder, SEQUENCE, START_NS);
	write_begin(MAIN, 10);
	write_begin(LEAF, 20);
	write_end(25);
	write_begin(LEAF, 100);
	write_begin(DEEP, 200);
	write_end(350);
	write_end(400);
	wrote(out_track_instant(ROOM, INSTANTS_SEQUENCE, THREAD, START_NS + 500,
				"request"));
	write_begin(LEAF, 900);
	write_end(905);
	write_end(1000);
	encoder_init(&g_encoder, SECOND_SEQUENCE, START_NS);
	write_begin(LATE, 5);
	write_begin(LEAF, 30);
	write_end(30);
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

/* "main@10 " begins, "<main@10 " began before FROM, "/main@1000 " ends, with
 * "?" if the file has no end, "/main@30> " is clipped at TO, "!request@600 " is
 * an instant. A '.' precedes each for each enclosing call. */
static void tell(const struct window *window, const struct window_event *event,
		 FILE *text)
{
	bool end = event->event.kind == TRACE_END;

	for (uint32_t i = 0; i < event->event.depth; i++)
		fputc('.', text);
	fprintf(text, "%s%s%s@%d%s ",
		event->before			     ? "<"
		: end				     ? "/"
		: event->event.kind == TRACE_INSTANT ? "!"
						     : "",
		trace_reader_text(window_trace(window), event->event.name),
		event->event.unfinished ? "?" : "",
		(int)(event->event.ns - START_NS), event->after ? ">" : "");
}

/* In the format of tell(). */
static void check_window(const char *thread, uint64_t from, uint64_t to,
			 const char *expected)
{
	const struct window_choice choice = {
		.range = { from ? START_NS + from : 0,
			   to ? START_NS + to : UINT64_MAX },
		.thread = thread,
	};
	struct window *window;
	struct window_event event;
	char told[512] = "";
	FILE *text = fmemopen(told, sizeof(told), "w");

	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(window_open(g_path, &choice, &window), 0);
	while (window_next(window, &event) > 0)
		tell(window, &event, text);
	ck_assert_int_eq(fclose(text), 0);
	ck_assert_str_eq(told, expected);
	window_close(&window);
	ck_assert_ptr_null(window);
}

FIXTURE(set_up, tear_down);

TEST(no_range_gives_all)
{
	check_window(NULL, 0, 0,
		     "main@10 .leaf@20 ./leaf@25 .leaf@100 ..deep@200 "
		     "../deep@350 ./leaf@400 !request@500 .leaf@900 "
		     "./leaf@905 /main@1000 late@5 .leaf@30 ./leaf@30 "
		     "/late?@1000 ");
}

TEST(what_is_open_at_from_comes_first_and_is_cut_at_to)
{
	check_window("8", 210, 300,
		     "<main@10 .<leaf@100 ..<deep@200 ../deep@300> "
		     "./leaf@300> /main@300> ");
	check_window("9", 210, 300, "<late@5 /late@300> ");
	check_window("worker", 100, 101,
		     "<main@10 .leaf@100 ./leaf@101> /main@101> ");
	check_window("worker", 500, 501, "<main@10 !request@500 /main@501> ");
	check_window("worker", 501, 900, "<main@10 /main@900> ");
}

TEST(an_event_at_from_is_in_the_range_and_one_at_to_is_not)
{
	/* Open until its end, which lies in the range. */
	check_window("8", 25, 100, "<main@10 .<leaf@20 ./leaf@25 /main@100> ");
	check_window("8", 26, 100, "<main@10 /main@100> ");
	check_window("8", 1000, 0, "<main@10 /main@1000 ");
	check_window("8", 1001, 0, "");
	check_window("8", 0, 10, "");
	check_window("8", 0, 11, "main@10 /main@11> ");
	/* A slice without duration. */
	check_window("9", 30, 31, "<late@5 .leaf@30 ./leaf@30 /late@31> ");
	check_window("9", 31, 40, "<late@5 /late@40> ");
	check_window("9", 20, 30, "<late@5 /late@30> ");
	/* A slice without an end stays open to the end of the trace. */
	check_window("9", 1000, 0, "<late@5 /late?@1000 ");
	check_window("9", 1001, 0, "");
}

TEST(a_counter_tells_its_last_value_before_from)
{
	g_bytes = 0;
	wrote(out_track_value(ROOM, INSTANTS_SEQUENCE, COUNTER, START_NS + 40,
			      1));
	wrote(out_track_value(ROOM, INSTANTS_SEQUENCE, COUNTER, START_NS + 50,
			      2));
	wrote(out_track_value(ROOM, INSTANTS_SEQUENCE, COUNTER, START_NS + 950,
			      3));
	ck_assert_int_eq(write(g_fd, g_trace, g_bytes), (ssize_t)g_bytes);
	check_window(NULL, 910, 920,
		     "<main@10 /main@920> <late@5 /late@920> <@50 ");
	check_window(NULL, 945, 951,
		     "<main@10 /main@951> @950 <late@5 /late@951> <@50 ");
	check_window("8", 945, 951, "<main@10 /main@951> ");
}

TEST(a_slice_of_the_range_knows_its_times)
{
	const struct window_choice choice = {
		.range = { START_NS + 210, START_NS + 380 },
		.thread = "8",
	};
	struct window *window;
	struct window_event event;
	char told[256] = "";
	FILE *text = fmemopen(told, sizeof(told), "w");

	ck_assert_int_eq(window_open(g_path, &choice, &window), 0);
	while (window_next(window, &event) > 0) {
		if (event.event.kind == TRACE_BEGIN)
			event.slice->user = event.slice->begin_ns;
		if (event.event.kind != TRACE_END)
			continue;
		ck_assert_uint_eq(event.slice->user, event.slice->begin_ns);
		fprintf(text, "%d:%d-%d/%d ",
			(int)(event.slice->begin_ns - START_NS),
			(int)(event.slice->shown_ns - START_NS),
			(int)(event.event.ns - START_NS),
			(int)event.slice->callee_ns);
	}
	ck_assert_int_eq(fclose(text), 0);
	ck_assert_str_eq(told, "200:210-350/0 100:210-380/140 10:210-380/170 ");
	window_close(&window);
}

TEST(a_thread_without_events_is_there)
{
	const struct window_choice choices[] = {
		{ .range = TIME_RANGE_ALL, .thread = "idle" },
		{ .range = TIME_RANGE_ALL, .thread = "10" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		struct window *window;
		struct window_event event;

		ck_assert_int_eq(window_open(g_path, &choices[i], &window), 0);
		ck_assert_int_eq(window_next(window, &event), 0);
		ck_assert(window_met_thread(window));
		window_close(&window);
	}
}

TEST(a_thread_that_is_not_there_is_not_met)
{
	const struct window_choice choice = { .range = TIME_RANGE_ALL,
					      .thread = "nobody" };
	struct window *window;
	struct window_event event;

	ck_assert_int_eq(window_open(g_path, &choice, &window), 0);
	ck_assert_int_eq(window_next(window, &event), 0);
	ck_assert(!window_met_thread(window));
	window_close(&window);
	ck_assert_int_lt(window_open("/nowhere", &choice, &window), 0);
}

/* --- ranges --- */

TEST(bounds_are_of_slices_and_of_the_last_event)
{
	struct trace_bounds bounds;

	ck_assert_int_eq(trace_bounds_read(g_path, NULL, NULL, &bounds), 0);
	ck_assert_uint_eq(bounds.first_ns, START_NS + 5);
	ck_assert_uint_eq(bounds.last_ns, START_NS + 1000);
	ck_assert_int_lt(trace_bounds_read("/nowhere", NULL, NULL, &bounds), 0);
}

#define OPEN UINT64_MAX /* an open side */

static const struct {
	uint64_t from, to;
	enum time_range_error error;
	uint64_t from_ns, to_ns;
} ranges[] = {
	{ OPEN, OPEN, TIME_RANGE_FINE, 0, UINT64_MAX },
	{ 0, OPEN, TIME_RANGE_FINE, 100, UINT64_MAX },
	{ OPEN, 5, TIME_RANGE_FINE, 0, 105 },
	{ 3, 5, TIME_RANGE_FINE, 103, 105 },
	{ 50, 60, TIME_RANGE_FINE, 150, 160 },
	{ 50, OPEN, TIME_RANGE_FINE, 150, UINT64_MAX },
	{ 3, UINT64_MAX - 1, TIME_RANGE_FINE, 103, UINT64_MAX },
	{ 51, 60, TIME_RANGE_BEYOND, 0, 0 },
	{ UINT64_MAX - 1, OPEN, TIME_RANGE_BEYOND, 0, 0 },
	{ 5, 5, TIME_RANGE_EMPTY, 0, 0 },
	{ 0, 0, TIME_RANGE_EMPTY, 0, 0 },
	{ OPEN, 0, TIME_RANGE_EMPTY, 0, 0 },
	{ 5, 4, TIME_RANGE_REVERSED, 0, 0 },
	{ 60, 51, TIME_RANGE_REVERSED, 0, 0 },
};

TEST(a_range_is_made_of_the_sides_that_are_given, EACH(0, ARRAY_SIZE(ranges)))
{
	const struct trace_bounds bounds = { .first_ns = 100, .last_ns = 150 };
	const struct trace_bounds empty = { .last_ns = 150 };
	const struct time_wish wish = {
		.has_from = ranges[_i].from != OPEN,
		.has_to = ranges[_i].to != OPEN,
		.from_ns = ranges[_i].from,
		.to_ns = ranges[_i].to,
	};
	struct time_range range = { 0 };
	bool fine = ranges[_i].error == TIME_RANGE_FINE;

	ck_assert_int_eq(time_range_make(&wish, &bounds, &range),
			 ranges[_i].error);
	ck_assert_uint_eq(range.from_ns, ranges[_i].from_ns);
	ck_assert_uint_eq(range.to_ns, ranges[_i].to_ns);
	if (fine && (wish.has_from || wish.has_to))
		ck_assert_int_eq(time_range_make(&wish, &empty, &range),
				 TIME_RANGE_NO_CALLS);
	else if (fine)
		ck_assert_int_eq(time_range_make(&wish, &empty, &range),
				 TIME_RANGE_FINE);
}

static const struct {
	uint64_t ns;
	const char *text;
} times[] = {
	{ 0, "0s" },
	{ 1, "1ns" },
	{ 999, "999ns" },
	{ 1000, "1us" },
	{ 30125, "30.125us" },
	{ 100000, "100us" },
	{ 1000001, "1.000001ms" },
	{ 400000000, "400ms" },
	{ 1000000000, "1s" },
	{ 10000000000, "10s" },
	{ 100250003000, "100.250003s" },
	{ UINT64_MAX, "18446744073.709551615s" },
};

TEST(a_time_is_told_as_it_can_be_typed, EACH(0, ARRAY_SIZE(times)))
{
	char text[TIME_RANGE_TEXT];
	uint64_t ns;

	ck_assert_str_eq(time_range_text(times[_i].ns, text), times[_i].text);
	if (times[_i].ns == UINT64_MAX)
		return;
	ck_assert_int_eq(size_parse_duration(text, &ns), 0);
	ck_assert_uint_eq(ns, times[_i].ns);
}
