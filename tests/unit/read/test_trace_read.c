/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads traces of the writers of collector/trace: whole, in bundles, cut at
 * each byte, and with unknown contents.
 */
#include <errno.h>
#include <libdeflate.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/read/trace_read.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_stacks.h"
#include "collector/trace/out_track.h"
#include "tests/unit/trace_rig.h"

#define COUNTER 33

static struct trace_reader *g_reader;
static struct trace_event g_event;

static void write_head(void)
{
	const struct out_clocks clocks = { .boottime = START_NS };
	const uint8_t uuid[16] = { 1 };
	const struct out_attribute attributes[] = {
		{ .key = "perfrec.version", .text = "1.0" },
		{ .key = "perfrec.number", .number = -5 },
	};
	char *command[] = { "./app", "x y", NULL };
	const struct out_process process = {
		.uuid = PROCESS, .pid = 7, .name = "app", .cmdline = command
	};

	g_bytes = 0;
	wrote(out_perfetto_preamble(ROOM, &clocks, uuid, attributes,
				    ARRAY_SIZE(attributes)));
	wrote(out_perfetto_process(ROOM, &process));
}

static void write_thread(uint32_t sequence)
{
	const struct out_thread thread = { .uuid = THREAD,
					   .sequence = sequence,
					   .pid = 7,
					   .tid = 8,
					   .name = "worker",
					   .start_ns = START_NS };
	const struct out_name names[] = { { 1, "main" }, { 2, "leaf" } };

	wrote(out_perfetto_thread(ROOM, &thread));
	wrote(out_perfetto_names(ROOM, sequence, names, ARRAY_SIZE(names)));
	encoder_init(&g_encoder, sequence, START_NS);
}

static void write_calls(uint32_t sequence)
{
	write_head();
	write_thread(sequence);
	write_begin(1, 10);
	write_begin(2, 20);
	write_end(25);
	write_begin(2, 40000);
	write_end(90000);
	write_end(100000);
}

static void pack_from(size_t from, uint8_t sequence)
{
	struct libdeflate_compressor *compressor =
		libdeflate_alloc_compressor(1);
	uint8_t packed[1 << 15], *at = g_trace + from;
	size_t bytes = libdeflate_zlib_compress(compressor, g_trace + from,
						g_bytes - from, packed,
						sizeof(packed));

	libdeflate_free_compressor(compressor);
	ck_assert_uint_gt(bytes, 128);
	*at++ = TAG_TRACE_PACKET;
	at = varint_put(at, bytes + 4 + (sequence ? 2 : 0));
	if (sequence) {
		*at++ = TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID;
		*at++ = sequence;
	}
	at = varint_put(at, TAG_TRACE_PACKET_COMPRESSED_PACKETS);
	at = varint_put(at, bytes);
	memcpy(at, packed, bytes);
	g_bytes = (size_t)(at - g_trace) + bytes;
}

static void open_bytes(size_t bytes)
{
	char path[32];
	int fd = keep_trace(bytes, path);

	ck_assert_int_eq(trace_reader_open(path, &g_reader), 0);
	close(fd);
}

static int next(void)
{
	return trace_reader_next(g_reader, &g_event);
}

static void close_reader(void)
{
	trace_reader_close(&g_reader);
	ck_assert_ptr_null(g_reader);
}

#define NAME trace_reader_text(g_reader, g_event.name)

static void expect(enum trace_event_kind kind, uint64_t ns, uint32_t depth,
		   const char *name)
{
	ck_assert_int_eq(next(), 1);
	ck_assert_int_eq(g_event.kind, kind);
	ck_assert_uint_eq(g_event.ns, START_NS + ns);
	ck_assert_uint_eq(g_event.depth, depth);
	ck_assert_str_eq(NAME, name);
	ck_assert_int_eq(g_event.track->kind, TRACE_TRACK_THREAD);
	ck_assert_int_eq(g_event.track->tid, 8);
}

static void expect_calls(void)
{
	expect(TRACE_BEGIN, 10, 0, "main");
	g_event.slice->user = 77;
	expect(TRACE_BEGIN, 20, 1, "leaf");
	ck_assert_uint_eq(g_event.slice->user, 0);
	expect(TRACE_END, 25, 1, "leaf");
	ck_assert_uint_eq(g_event.slice->begin_ns, START_NS + 20);
	expect(TRACE_BEGIN, 40000, 1, "leaf");
	expect(TRACE_END, 90000, 1, "leaf");
	expect(TRACE_END, 100000, 0, "main");
	ck_assert_uint_eq(g_event.slice->callee_ns, 50005);
	ck_assert_uint_eq(g_event.slice->user, 77);
	ck_assert_int_eq(next(), 0);
	ck_assert_int_eq(next(), 0);
}

FIXTURE(NULL, close_reader);

TEST(trace_read_gives_calls_with_their_times_and_names)
{
	/* Varints of one, two and five bytes. */
	static const uint32_t sequences[] = { 2, 300, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(sequences); i++) {
		struct trace_read_totals totals;

		write_calls(sequences[i]);
		open_bytes(g_bytes);
		expect_calls();
		totals = trace_reader_totals(g_reader);
		ck_assert_uint_eq(totals.at, g_bytes);
		ck_assert_uint_eq(totals.begins, 3);
		ck_assert_uint_eq(totals.ends, 3);
		ck_assert_uint_eq(totals.unfinished, 0);
		ck_assert_uint_eq(totals.bad_events, 0);
		ck_assert_uint_eq(totals.first_ns, START_NS + 10);
		ck_assert_uint_eq(totals.last_ns, START_NS + 100000);
		close_reader();
	}
}

TEST(trace_read_knows_the_process_of_a_thread)
{
	const char *key, *text;
	int64_t number;

	write_calls(2);
	open_bytes(g_bytes);
	expect(TRACE_BEGIN, 10, 0, "main");
	ck_assert_ptr_nonnull(g_event.track->process);
	ck_assert_str_eq(trace_reader_text(g_reader, g_event.track->name),
			 "worker");
	ck_assert_str_eq(
		trace_reader_text(g_reader, g_event.track->process->name),
		"app");
	ck_assert_str_eq(
		trace_reader_text(g_reader, g_event.track->process->command),
		"./app x y");
	ck_assert(trace_reader_attribute(g_reader, 0, &key, &text, &number));
	ck_assert_str_eq(key, "perfrec.version");
	ck_assert_str_eq(text, "1.0");
	ck_assert(trace_reader_attribute(g_reader, 1, &key, &text, &number));
	ck_assert_ptr_null(text);
	ck_assert_int_eq(number, -5);
	ck_assert(!trace_reader_attribute(g_reader, 2, &key, &text, &number));
}

TEST(trace_read_unpacks_bundles)
{
	write_head();
	g_bytes = 0;
	write_calls(2);
	pack_from(0, 0);
	open_bytes(g_bytes);
	expect_calls();
}

TEST(trace_read_of_a_bundle_that_is_damaged_goes_on)
{
	write_calls(2);
	pack_from(0, 0);
	g_trace[g_bytes - 1] ^= 1; /* damages its checksum */
	open_bytes(g_bytes);
	ck_assert_int_eq(next(), 0);
	ck_assert_uint_eq(trace_reader_totals(g_reader).bad_bundles, 1);
}

/* No writer makes one, and reading it would cost time for each packet. */
TEST(trace_read_says_that_it_leaves_out_a_bundle_of_a_sequence)
{
	write_calls(2);
	pack_from(0, 2);
	open_bytes(g_bytes);
	ck_assert_int_eq(next(), 0);
	ck_assert_uint_eq(trace_reader_totals(g_reader).bad_bundles, 1);
}

TEST(trace_read_of_a_cut_file_ends_what_is_open)
{
	size_t whole;

	write_calls(2);
	whole = g_bytes;
	for (size_t bytes = 0; bytes <= whole; bytes++) {
		struct trace_read_totals totals;
		uint64_t ends = 0, last = 0;

		open_bytes(bytes);
		while (next() > 0) {
			ends += g_event.kind == TRACE_END;
			ck_assert(!g_event.unfinished || g_event.ns == last);
			last = g_event.ns;
		}
		ck_assert_int_eq(next(), 0);
		totals = trace_reader_totals(g_reader);
		ck_assert_uint_eq(totals.begins, ends);
		ck_assert_uint_eq(totals.ends, ends);
		ck_assert_uint_eq(totals.at + totals.cut, bytes);
		ck_assert(bytes < whole || !totals.cut);
		close_reader();
	}
}

TEST(trace_read_stops_where_the_file_is_no_trace)
{
	write_calls(2);
	memset(g_trace + g_bytes, 0xff, 64);
	open_bytes(g_bytes + 64);
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(next(), 1);
	ck_assert_int_eq(next(), -EBADMSG);
	ck_assert_int_eq(next(), -EBADMSG);
	ck_assert_uint_eq(trace_reader_totals(g_reader).at, g_bytes);
}

TEST(trace_read_gives_arguments_and_flows)
{
	const struct out_attribute arguments[] = {
		{ .key = "size", .number = 42 },
		{ .key = "what", .text = "<b>;\n" },
	};
	const struct out_event event = { .type = OUT_INSTANT,
					 .sequence = 2,
					 .delta_ns = 5,
					 .name = "hello",
					 .arguments = arguments,
					 .argument_count = 2,
					 .flow = 99,
					 .flow_ends = true };
	struct trace_argument argument;
	struct wire flows;
	uint64_t id;
	bool ends;

	write_head();
	write_thread(2);
	wrote(out_perfetto_event(ROOM, &event));
	open_bytes(g_bytes);
	expect(TRACE_INSTANT, 5, 0, "hello");
	flows = g_event.fields;
	ck_assert(trace_argument_next(g_reader, &g_event, &argument));
	ck_assert_int_eq(argument.kind, TRACE_ARGUMENT_INT);
	ck_assert_uint_eq(argument.number, 42);
	ck_assert(!strncmp(argument.name, "size", argument.name_bytes));
	ck_assert(trace_argument_next(g_reader, &g_event, &argument));
	ck_assert_int_eq(argument.kind, TRACE_ARGUMENT_TEXT);
	ck_assert_uint_eq(argument.text_bytes, 5);
	ck_assert(!memcmp(argument.text, "<b>;\n", 5));
	ck_assert(!trace_argument_next(g_reader, &g_event, &argument));
	ck_assert(trace_flow_next(&flows, &id, &ends));
	ck_assert_uint_eq(id, 99);
	ck_assert(ends);
	ck_assert(!trace_flow_next(&flows, &id, &ends));
}

TEST(trace_read_multiplies_counters)
{
	const struct out_counter counter = { .uuid = COUNTER,
					     .parent = PROCESS,
					     .name = "queue",
					     .unit = UNIT_CUSTOM,
					     .unit_name = "jobs",
					     .multiplier = 1000 };

	write_head();
	wrote(out_track_sequence(ROOM, 5));
	wrote(out_track_counter(ROOM, &counter));
	wrote(out_track_value(ROOM, 5, COUNTER, START_NS, 3));
	wrote(out_track_value(ROOM, 5, COUNTER, START_NS + 1, INT64_MIN));
	open_bytes(g_bytes);
	ck_assert_int_eq(next(), 1);
	ck_assert_int_eq(g_event.kind, TRACE_COUNTER);
	ck_assert_int_eq(g_event.value, 3000);
	ck_assert_uint_eq(g_event.track->parent, PROCESS);
	ck_assert_str_eq(trace_reader_text(g_reader, g_event.track->unit),
			 "jobs");
	ck_assert_int_eq(next(), 1);
	ck_assert_int_eq(g_event.value, INT64_MIN);
}

TEST(trace_read_gives_samples_with_their_stacks)
{
	uint64_t frames[] = { 1, 2 };
	const struct out_stack_mapping mapping = { .iid = 1, .path = 1 };
	const struct out_stack_frame outer = { .iid = 1, .function = 1 };
	const struct out_stack_frame inner = {
		.iid = 2, .function = 2, .mapping = 1, .rel_pc = 0x10
	};
	const struct out_sample sample = {
		.ns = START_NS, .pid = 7, .tid = 8, .callstack = 1
	};
	const struct trace_frame *stack;

	write_head();
	write_thread(2);
	wrote(out_stacks_first(ROOM, 4, 99));
	wrote(out_stacks_string(ROOM, 4, OUT_STRING_FUNCTION, 1, "main"));
	wrote(out_stacks_string(ROOM, 4, OUT_STRING_FUNCTION, 2, "leaf"));
	wrote(out_stacks_string(ROOM, 4, OUT_STRING_PATH, 1, "/bin/app"));
	wrote(out_stacks_mapping(ROOM, 4, &mapping));
	wrote(out_stacks_frame(ROOM, 4, &outer));
	wrote(out_stacks_frame(ROOM, 4, &inner));
	wrote(out_stacks_callstack(ROOM, 4, 1, frames, 2));
	wrote(out_stacks_sample(ROOM, 4, &sample));
	open_bytes(g_bytes);
	ck_assert_int_eq(next(), 1);
	ck_assert_int_eq(g_event.kind, TRACE_SAMPLE);
	ck_assert_ptr_nonnull(g_event.track);
	ck_assert_int_eq(g_event.track->tid, 8);
	ck_assert_uint_eq(trace_reader_stack(g_reader, g_event.stack, &stack),
			  2);
	ck_assert_str_eq(trace_reader_text(g_reader, stack[0].function),
			 "main");
	ck_assert_str_eq(trace_reader_text(g_reader, stack[1].function),
			 "leaf");
	ck_assert_str_eq(trace_reader_text(g_reader, stack[1].module),
			 "/bin/app");
	ck_assert_uint_eq(stack[1].address, 0x10);
}

TEST(trace_read_forgets_slices_that_are_too_deep)
{
	struct trace_read_totals totals;

	write_head();
	write_thread(2);
	for (unsigned int i = 0; i < 1500; i++)
		write_begin(2, i);
	for (unsigned int i = 0; i < 1500; i++)
		write_end(1500 + i);
	open_bytes(g_bytes);
	while (next() > 0)
		ck_assert_uint_lt(g_event.depth, 1024);
	totals = trace_reader_totals(g_reader);
	ck_assert_uint_eq(totals.begins, 1024);
	ck_assert_uint_eq(totals.ends, 1024);
	ck_assert_uint_eq(totals.refused, 1500 - 1024);
	ck_assert_uint_eq(totals.bad_events, 0);
}

TEST(trace_read_refuses_what_cannot_be_opened)
{
	ck_assert_int_eq(trace_reader_open("/nonexistent/trace", &g_reader),
			 -ENOENT);
	ck_assert_int_eq(trace_reader_open("/tmp", &g_reader), -EBADMSG);
	ck_assert_int_eq(trace_reader_open("/dev/zero", &g_reader), -EBADMSG);
	ck_assert_ptr_null(g_reader);
}
