/* SPDX-License-Identifier: Apache-2.0
 *
 * packet_window, called by trace_cut: the packets of a cut, and cut_ranges.
 * tests/e2e/trace/cut.sh cuts real recordings.
 */
#include "collector/cut/packet_window.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/cut/trace_cut.h"
#include "collector/read/trace_read.h"
#include "collector/read/trace_sched.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_sched.h"
#include "collector/trace/out_track.h"
#include "tests/unit/trace_rig.h"

#define SEQUENCE 5
#define SECOND_SEQUENCE 6
#define SHARED_SEQUENCE 7 /* its events name their tracks */
#define SECOND 23 /* uuid of the second thread */
#define COUNTER 24
#define LANE 25
#define MAIN 1
#define LEAF 2
#define DEEP 3
#define LATE 4
#define TOLD_BYTES 2048

static void write_thread(uint64_t uuid, uint32_t sequence, pid_t tid,
			 const char *name)
{
	const struct out_thread thread = { .uuid = uuid,
					   .sequence = sequence,
					   .pid = 7,
					   .tid = tid,
					   .name = name,
					   .start_ns = START_NS };
	const struct out_name names[] = { { MAIN, "main" },
					  { LEAF, "leaf" },
					  { DEEP, "deep" },
					  { LATE, "late" } };

	wrote(out_perfetto_thread(ROOM, &thread));
	wrote(out_perfetto_names(ROOM, sequence, names, ARRAY_SIZE(names)));
}

static void write_head(void)
{
	const struct out_clocks clocks = { .boottime = START_NS };
	const uint8_t uuid[16] = { 1 };
	const struct out_attribute attribute = { .key = "perfrec.version",
						 .text = "test" };
	const struct out_process process = { .uuid = PROCESS,
					     .pid = 7,
					     .name = "app" };
	const struct out_counter counter = { .uuid = COUNTER,
					     .parent = PROCESS,
					     .name = "things",
					     .multiplier = 1 };
	const struct out_track lane = { .uuid = LANE,
					.parent = PROCESS,
					.name = "jobs" };

	wrote(out_perfetto_preamble(ROOM, &clocks, uuid, &attribute, 1));
	wrote(out_perfetto_process(ROOM, &process));
	write_thread(THREAD, SEQUENCE, 8, "worker");
	write_thread(SECOND, SECOND_SEQUENCE, 9, "second");
	wrote(out_track_counter(ROOM, &counter));
	wrote(out_track_track(ROOM, &lane));
	wrote(out_track_sequence(ROOM, SHARED_SEQUENCE));
}

static void write_value(uint64_t ns, int64_t value)
{
	wrote(out_track_value(ROOM, SHARED_SEQUENCE, COUNTER, START_NS + ns,
			      value));
}

/* @name NULL: an end. One of its flows ends there, the other does not. */
static void write_lane(uint64_t ns, const char *name)
{
	struct bytes fields = { 0 };
	struct encode_event event = { .type = name ? TYPE_SLICE_BEGIN
						   : TYPE_SLICE_END,
				      .absolute = true };
	struct encoder encoder;

	encoder_init(&encoder, SHARED_SEQUENCE, 0);
	bytes_field(&fields, TAG_TRACK_EVENT_TRACK_UUID, LANE);
	if (name) {
		bytes_text(&fields, TAG_TRACK_EVENT_NAME, name, strlen(name));
		bytes_fixed64(&fields, TAG_TRACK_EVENT_TERMINATING_FLOW_IDS, 1);
		bytes_fixed64(&fields, TAG_TRACK_EVENT_FLOW_IDS, 2);
	}
	event.fields = fields.at;
	event.field_bytes = fields.count;
	encoder.out = g_trace + g_bytes;
	encode_event(&encoder, START_NS + ns, &event);
	g_bytes = (size_t)(encoder.out - g_trace);
	bytes_release(&fields);
}

/* worker: main 10..1000: leaf 20..25, leaf 100..400: deep 200..350;
 *         leaf 900..905
 * second: late 5..          (its slice has no end), leaf 30..30
 * The file has the worker first. */
static void write_calls(void)
{
	encoder_init(&g_encoder, SEQUENCE, START_NS);
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
	encoder_init(&g_encoder, SECOND_SEQUENCE, START_NS);
	write_begin(LATE, 5);
	write_begin(LEAF, 30);
	write_end(30);
}

static void write_trace(void)
{
	g_bytes = 0;
	write_head();
	write_calls();
}

/* --- cuts as text --- */

static FILE *open_memory(const void *bytes, size_t count, char path[32])
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	FILE *file = fdopen(fd, "w");

	ck_assert_ptr_nonnull(file);
	if (count)
		ck_assert_int_eq(write(fd, bytes, count), (ssize_t)count);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return file;
}

static void tell_arguments(const struct trace_reader *reader,
			   struct trace_event *event, FILE *text)
{
	struct wire flows = event->fields;
	struct trace_argument argument;
	uint64_t id;
	bool ends;

	while (trace_argument_next(reader, event, &argument))
		if (argument.kind == TRACE_ARGUMENT_INT)
			fprintf(text, "<%d", (int)(argument.number - START_NS));
		else
			fputc('>', text);
	while (trace_flow_next(&flows, &id, &ends))
		fprintf(text, "%s%d", ends ? "^" : "~", (int)id);
}

/* "main@10<5 " begins, clipped from 5; "/main@20> " ends, clipped; a '.'
 * precedes them for each enclosing slice; "=7@10 " is a value. "~" and "^"
 * precede flows that begin and end. */
static void tell(const struct trace_reader *reader, struct trace_event *event,
		 FILE *text)
{
	int ns = (int)(event->ns - START_NS);

	for (uint32_t i = 0; i < event->depth; i++)
		fputc('.', text);
	if (event->kind == TRACE_COUNTER)
		fprintf(text, "=%d@%d", (int)event->value, ns);
	else
		fprintf(text, "%s%s%s@%d", event->kind == TRACE_END ? "/" : "",
			trace_reader_text(reader, event->name),
			event->unfinished ? "?" : "", ns);
	tell_arguments(reader, event, text);
	fputc(' ', text);
}

static void tell_trace(const char *path, char told[TOLD_BYTES])
{
	FILE *text = fmemopen(told, TOLD_BYTES, "w");
	struct trace_reader *reader;
	struct trace_event event;

	told[0] = '\0';
	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(trace_reader_open(path, &reader), 0);
	while (trace_reader_next(reader, &event) > 0)
		tell(reader, &event, text);
	ck_assert_uint_eq(trace_reader_totals(reader).bad_events, 0);
	trace_reader_close(&reader);
	ck_assert_int_eq(fclose(text), 0);
}

/* Pairs of times after START_NS, up to -1. */
static struct cut_ranges make_ranges(const int *times)
{
	struct cut_ranges ranges = { 0 };

	for (; times[0] >= 0; times += 2)
		ck_assert_int_eq(cut_ranges_add(&ranges,
						START_NS + (uint64_t)times[0],
						START_NS + (uint64_t)times[1]),
				 0);
	cut_ranges_order(&ranges);
	return ranges;
}

static struct trace_cut_result cut(const int *times,
				   const struct cut_threads *threads,
				   bool compress, char told[TOLD_BYTES])
{
	struct cut_ranges ranges = make_ranges(times);
	struct trace_cut_result result;
	char in_path[32], out_path[32];
	FILE *in = open_memory(g_trace, g_bytes, in_path);
	FILE *out = open_memory(NULL, 0, out_path);
	const struct trace_cut_wish wish = { .path = in_path,
					     .of = "test",
					     .ranges = &ranges,
					     .origin_ns = START_NS,
					     .threads = threads,
					     .compress = compress };

	ck_assert_int_eq(trace_cut_write(&wish, out, &result), 0);
	tell_trace(out_path, told);
	fclose(in);
	fclose(out);
	cut_ranges_release(&ranges);
	return result;
}

#define TIMES(...) ((const int[]){ __VA_ARGS__, -1, -1 })

static void check_cut(const int *times, const char *expected)
{
	char told[TOLD_BYTES];

	cut(times, NULL, false, told);
	ck_assert_str_eq(told, expected);
	cut(times, NULL, true, told);
	ck_assert_str_eq(told, expected);
}

/* --- slices --- */

TEST(window_has_all_of_a_range_that_has_all)
{
	write_trace();
	check_cut(TIMES(0, 2000),
		  "main@10 .leaf@20 ./leaf@25 .leaf@100 ..deep@200 "
		  "../deep@350 ./leaf@400 .leaf@900 ./leaf@905 /main@1000 "
		  "late@5 .leaf@30 ./leaf@30 /late@1000> ");
}

TEST(window_begins_again_what_is_open_and_ends_what_goes_on)
{
	write_trace();
	check_cut(TIMES(210, 300), "main@210<10 .leaf@210<100 ..deep@210<200 "
				   "../deep@300> ./leaf@300> /main@300> "
				   "late@210<5 /late@300> ");
}

TEST(window_is_half_open)
{
	write_trace();
	check_cut(TIMES(100, 200),
		  "main@100<10 .leaf@100 ./leaf@200> /main@200> "
		  "late@100<5 /late@200> ");
	/* A slice that ends at the start of a range was open there. */
	check_cut(TIMES(25, 26), "main@25<10 .leaf@25<20 ./leaf@25 /main@26> "
				 "late@25<5 /late@26> ");
	check_cut(TIMES(26, 27), "main@26<10 /main@27> late@26<5 /late@27> ");
}

TEST(window_ends_what_has_no_end_at_the_last_event)
{
	write_trace();
	check_cut(TIMES(950, 5000),
		  "main@950<10 /main@1000 late@950<5 /late@1000> ");
	check_cut(TIMES(1001, 5000), "");
}

TEST(window_clips_at_gaps)
{
	write_trace();
	check_cut(TIMES(210, 220, 380, 390),
		  "main@210<10 .leaf@210<100 ..deep@210<200 ../deep@220> "
		  "./leaf@220> /main@220> main@380<10 .leaf@380<100 "
		  "./leaf@390> /main@390> late@210<5 /late@220> late@380<5 "
		  "/late@390> ");
}

TEST(window_of_a_thread_has_no_other)
{
	int64_t tids[] = { 4, 9, 12 };
	struct cut_threads threads = { .tids = tids, .count = 3 };
	char told[TOLD_BYTES];

	write_trace();
	cut(TIMES(210, 300), &threads, false, told);
	ck_assert_str_eq(told, "late@210<5 /late@300> ");
	tids[1] = 10;
	cut(TIMES(210, 300), &threads, false, told);
	ck_assert_str_eq(told, "");
}

TEST(window_counts_what_it_has)
{
	char told[TOLD_BYTES];
	struct trace_cut_result result;

	write_trace();
	result = cut(TIMES(210, 300), NULL, false, told);
	ck_assert_uint_eq(result.totals.slices, 4);
	ck_assert_uint_eq(result.totals.clipped, 4);
	ck_assert_uint_eq(result.totals.threads, 2);
	ck_assert_uint_eq(result.totals.bad_events, 0);
	ck_assert_uint_eq(result.totals.refused, 0);
	ck_assert_uint_gt(result.bytes, 100);
}

/* --- other events --- */

TEST(window_has_the_last_value_before)
{
	g_bytes = 0;
	write_head();
	/* Threads may write values in any order. */
	write_value(300, 3);
	write_value(100, 1);
	write_value(200, 2);
	write_value(400, 4);
	check_cut(TIMES(250, 260), "=2@250 ");
	check_cut(TIMES(250, 350), "=3@300 =2@250 ");
	check_cut(TIMES(200, 210), "=2@200 ");
	check_cut(TIMES(50, 60), "");
	/* Only values between the ranges, and each once. */
	check_cut(TIMES(150, 160, 170, 180, 250, 260), "=1@150 =2@250 ");
}

TEST(window_keeps_the_flows_that_may_go_on)
{
	g_bytes = 0;
	write_head();
	write_lane(100, "job");
	write_lane(500, NULL);
	check_cut(TIMES(50, 600), "job@100^1~2 /job@500 ");
	check_cut(TIMES(200, 300), "job@200<100~2 /job@300> ");
}

TEST(window_is_balanced_when_time_falls)
{
	g_bytes = 0;
	write_head();
	write_lane(100, "one");
	write_lane(50, "two");
	write_lane(20, NULL);
	write_lane(500, NULL);
	check_cut(TIMES(90, 110), "one@100^1~2 .two@100^1~2 ./two@100 "
				  "/one@110> ");
	check_cut(TIMES(10, 60), "");
}

TEST(window_has_only_names_and_tracks_that_it_shows)
{
	struct cut_ranges ranges;
	struct trace_cut_result result;
	char in_path[32], out_path[32];
	struct trace_reader *reader;
	struct trace_event event;
	int64_t tid = 8;
	const struct cut_threads worker = { .tids = &tid, .count = 1 };
	FILE *in, *out;

	write_trace();
	ranges = make_ranges(TIMES(950, 960));
	in = open_memory(g_trace, g_bytes, in_path);
	out = open_memory(NULL, 0, out_path);
	ck_assert_int_eq(
		trace_cut_write(
			&(const struct trace_cut_wish){ .path = in_path,
							.of = "test",
							.ranges = &ranges,
							.threads = &worker },
			out, &result),
		0);
	ck_assert_int_eq(trace_reader_open(out_path, &reader), 0);
	while (trace_reader_next(reader, &event) > 0)
		;
	for (uint32_t i = 1; i <= trace_reader_texts(reader); i++) {
		const char *text = trace_reader_text(reader, i);

		ck_assert_str_ne(text, "leaf");
		ck_assert_str_ne(text, "late");
		ck_assert_str_ne(text, "second");
		ck_assert_str_ne(text, "things");
	}
	ck_assert_ptr_nonnull(trace_reader_find_track(reader, THREAD));
	ck_assert_ptr_nonnull(trace_reader_find_track(reader, PROCESS));
	ck_assert_ptr_null(trace_reader_find_track(reader, SECOND));
	trace_reader_close(&reader);
	fclose(in);
	fclose(out);
	cut_ranges_release(&ranges);
}

/* --- switches --- */

/* Thread 8 runs on CPU 0 from 0 to 100 and from 250 to 280, and on CPU 1 from
 * 120 to 150; it sleeps in between. Thread 9 runs on CPU 1 from 50 to 110, is
 * preempted, and runs again from 160 on. CPU 1 comes first in the file. */
static void write_switches(void)
{
	struct out_sched *sched;

	ck_assert_int_eq(out_sched_new(4, 1, wrote_switches, NULL, &sched), 0);
	out_sched_in(sched, 1, START_NS + 50, 9);
	out_sched_out(sched, 1, START_NS + 110, 9, OUT_SCHED_PREEMPTED);
	out_sched_in(sched, 1, START_NS + 120, 8);
	out_sched_out(sched, 1, START_NS + 150, 8, OUT_SCHED_BLOCKED);
	out_sched_in(sched, 1, START_NS + 160, 9);
	out_sched_flush(sched);
	out_sched_in(sched, 0, START_NS + 0, 8);
	out_sched_out(sched, 0, START_NS + 100, 8, OUT_SCHED_BLOCKED);
	out_sched_in(sched, 0, START_NS + 250, 8);
	out_sched_out(sched, 0, START_NS + 280, 8, OUT_SCHED_BLOCKED);
	out_sched_end(sched, START_NS + 300);
	out_sched_free(&sched);
}

static void check_between(const struct trace_sched *sched, int64_t tid,
			  uint64_t from, uint64_t to,
			  struct trace_sched_sums expected)
{
	struct trace_sched_sums sums =
		trace_sched_between(sched, tid, START_NS + from, START_NS + to);

	ck_assert_uint_eq(sums.on_cpu, expected.on_cpu);
	ck_assert_uint_eq(sums.preempted, expected.preempted);
	ck_assert_uint_eq(sums.waited, expected.waited);
	ck_assert_uint_eq(sums.unknown, expected.unknown);
}

/* The cut stays at @path. */
static struct trace_sched *cut_switches(const int *times, char path[32],
					FILE **out)
{
	struct cut_ranges ranges = make_ranges(times);
	struct trace_cut_result result;
	struct trace_sched *sched;
	char in_path[32];
	FILE *in = open_memory(g_trace, g_bytes, in_path);
	const struct trace_cut_wish wish = { .path = in_path,
					     .of = "test",
					     .ranges = &ranges };

	*out = open_memory(NULL, 0, path);
	ck_assert_int_eq(trace_cut_write(&wish, *out, &result), 0);
	ck_assert_int_eq(trace_sched_read(path, NULL, NULL, &sched), 0);
	ck_assert_ptr_nonnull(sched);
	fclose(in);
	cut_ranges_release(&ranges);
	return sched;
}

TEST(window_knows_what_threads_do_when_it_begins)
{
	struct trace_sched *sched;
	char path[32];
	FILE *out;

	write_trace();
	write_switches();
	/* 8 sleeps, 9 runs. */
	sched = cut_switches(TIMES(200, 300), path, &out);
	check_between(sched, 8, 200, 300,
		      (struct trace_sched_sums){ .on_cpu = 30, .waited = 70 });
	check_between(sched, 9, 200, 300,
		      (struct trace_sched_sums){ .on_cpu = 100 });
	trace_sched_free(&sched);
	fclose(out);
	/* 9 is preempted; 8 sleeps after running on another CPU. */
	sched = cut_switches(TIMES(115, 170), path, &out);
	check_between(sched, 8, 115, 170,
		      (struct trace_sched_sums){ .on_cpu = 30, .waited = 25 });
	check_between(
		sched, 9, 115, 170,
		(struct trace_sched_sums){ .on_cpu = 10, .preempted = 45 });
	trace_sched_free(&sched);
	fclose(out);
}

/* A description precedes the first call but may follow switches. */
TEST(window_describes_a_thread_that_comes_after_its_switches)
{
	struct trace_sched *sched;
	struct trace_reader *reader;
	struct trace_event event;
	const struct trace_track *track;
	char path[32];
	FILE *out;

	g_bytes = 0;
	write_switches();
	write_head();
	write_thread(33, 9, 10, "late");
	encoder_init(&g_encoder, 9, START_NS);
	write_begin(MAIN, 900);
	write_end(910);
	sched = cut_switches(TIMES(200, 300), path, &out);
	trace_sched_free(&sched);
	ck_assert_int_eq(trace_reader_open(path, &reader), 0);
	while (trace_reader_next(reader, &event) > 0)
		;
	track = trace_reader_find_track(reader, THREAD);
	ck_assert_ptr_nonnull(track);
	ck_assert_str_eq(trace_reader_text(reader, track->name), "worker");
	ck_assert_ptr_null(trace_reader_find_track(reader, 33));
	trace_reader_close(&reader);
	fclose(out);
}

/* --- state from elsewhere --- */

/* As an index gives it, without the packets before. */
TEST(window_takes_a_state_that_is_given_as_packets)
{
	const struct out_thread thread = { .uuid = THREAD,
					   .sequence = SEQUENCE,
					   .pid = 7,
					   .tid = 8,
					   .name = "worker",
					   .start_ns = START_NS + 10 };
	const struct out_name names[] = { { MAIN, "main" },
					  { LEAF, "leaf" },
					  { DEEP, "deep" } };

	g_bytes = 0;
	write_head();
	wrote(out_perfetto_thread(ROOM, &thread));
	wrote(out_perfetto_names(ROOM, SEQUENCE, names, ARRAY_SIZE(names)));
	encoder_init(&g_encoder, SEQUENCE, START_NS + 10);
	write_begin(MAIN, 10);
	write_begin(LEAF, 100);
	write_begin(DEEP, 200);
	write_end(350);
	write_end(400);
	write_end(1000);
	check_cut(TIMES(210, 300), "main@210<10 .leaf@210<100 ..deep@210<200 "
				   "../deep@300> ./leaf@300> /main@300> ");
}

TEST(window_takes_a_sequence_that_starts_again)
{
	write_trace();
	/* Invalidates the names of the cut inside the range. */
	write_thread(SECOND, SECOND_SEQUENCE, 9, "second");
	encoder_init(&g_encoder, SECOND_SEQUENCE, START_NS);
	write_begin(DEEP, 240);
	write_end(250);
	check_cut(TIMES(210, 300), "main@210<10 .leaf@210<100 ..deep@210<200 "
				   "../deep@300> ./leaf@300> /main@300> "
				   "late@210<5 .deep@240 ./deep@250 "
				   "/late@300> ");
}

/* --- ranges --- */

TEST(ranges_are_in_order_and_do_not_touch)
{
	struct cut_ranges ranges =
		make_ranges(TIMES(50, 60, 10, 20, 15, 30, 30, 40, 70, 70));

	ck_assert_uint_eq(ranges.count, 2);
	ck_assert_uint_eq(ranges.at[0].from, START_NS + 10);
	ck_assert_uint_eq(ranges.at[0].to, START_NS + 40);
	ck_assert_uint_eq(ranges.at[1].from, START_NS + 50);
	ck_assert_uint_eq(cut_ranges_after(&ranges, 0), 0);
	ck_assert_uint_eq(cut_ranges_after(&ranges, START_NS + 39), 0);
	ck_assert_uint_eq(cut_ranges_after(&ranges, START_NS + 40), 1);
	ck_assert_uint_eq(cut_ranges_after(&ranges, START_NS + 60), 2);
	ck_assert(!cut_ranges_has(&ranges, START_NS + 9));
	ck_assert(cut_ranges_has(&ranges, START_NS + 10));
	ck_assert(!cut_ranges_has(&ranges, START_NS + 40));
	ck_assert(!cut_ranges_has(&ranges, START_NS + 60));
	cut_ranges_release(&ranges);
}

/* --- a full disk --- */

TEST(window_says_that_it_could_not_be_written)
{
	struct cut_ranges ranges = make_ranges(TIMES(0, 2000));
	struct trace_cut_result result;
	char path[32];
	FILE *in, *out = fopen("/dev/full", "w");

	if (!out)
		return;
	write_trace();
	in = open_memory(g_trace, g_bytes, path);
	ck_assert_int_eq(
		trace_cut_write(
			&(const struct trace_cut_wish){
				.path = path, .of = "test", .ranges = &ranges },
			out, &result),
		-ENOSPC);
	fclose(in);
	fclose(out);
	cut_ranges_release(&ranges);
}
