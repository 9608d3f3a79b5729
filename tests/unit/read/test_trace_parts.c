/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a trace that the writers of collector/trace wrote, by an index that
 * is made from it.
 */
#include <stdio.h>
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/output/own_files.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_parts.h"
#include "collector/read/trace_read.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_index.h"
#include "shared/compiler.h"
#include "tests/unit/scratch.h"
#include "tests/unit/trace_rig.h"

#define SEQUENCE 5
#define OTHERS 9 /* a sequence that is no thread's */
#define TRACK 33
#define INSTANT 3 /* TrackEvent.TYPE_INSTANT */
#define BOOTTIME 6 /* a clock */
#define STEP_NS 10000000

/* An instant of OTHERS with the name number @iid, which has @text; NULL: an
 * earlier packet has the text. */
static void write_instant(uint32_t iid, const char *text, uint64_t ns)
{
	struct bytes name = { 0 }, interned = { 0 }, event = { 0 };
	struct bytes packet = { 0 };

	bytes_field(&packet, TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
		    OTHERS);
	if (text) {
		bytes_field(&name, TAG_EVENT_NAME_IID, iid);
		bytes_part(&name, TAG_EVENT_NAME_NAME, text, strlen(text));
		bytes_part(&interned, TAG_INTERNED_DATA_EVENT_NAMES, name.at,
			   name.count);
		bytes_part(&packet, TAG_TRACE_PACKET_INTERNED_DATA, interned.at,
			   interned.count);
	}
	bytes_field(&event, TAG_TRACK_EVENT_TYPE, INSTANT);
	bytes_field(&event, TAG_TRACK_EVENT_NAME_IID, iid);
	bytes_field(&event, TAG_TRACK_EVENT_TRACK_UUID, TRACK);
	bytes_part(&packet, TAG_TRACE_PACKET_TRACK_EVENT, event.at,
		   event.count);
	bytes_field(&packet, TAG_TRACE_PACKET_TIMESTAMP, START_NS + ns);
	bytes_field(&packet, TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID, BOOTTIME);
	event.count = 0;
	bytes_part(&event, TAG_TRACE_PACKET, packet.at, packet.count);
	ck_assert(!event.failed);
	memcpy(g_trace + g_bytes, event.at, event.count);
	g_bytes += event.count;
	bytes_release(&name);
	bytes_release(&interned);
	bytes_release(&event);
	bytes_release(&packet);
}

static void flush_to(FILE *file)
{
	ck_assert_uint_eq(fwrite(g_trace, 1, g_bytes, file), g_bytes);
	g_bytes = 0;
}

/* Writes calls from @ns on that fill more than an extent of the index. */
static void write_extent(FILE *file, uint64_t ns)
{
	for (size_t bytes = 0; bytes < 450u << 10; bytes += g_bytes) {
		flush_to(file);
		for (int i = 0; i < 1000; i++, ns += 10) {
			write_begin(1, ns);
			write_end(ns + 5);
		}
	}
	flush_to(file);
}

static void write_trace(void)
{
	const struct out_name names[] = { { 1, "main" } };
	const struct out_track track = { .uuid = TRACK, .name = "others" };
	FILE *file = fopen(TRACE_NAME, "we");

	ck_assert_ptr_nonnull(file);
	write_trace_head(SEQUENCE, 8, names, ARRAY_SIZE(names));
	wrote(out_track_track(ROOM, &track));
	wrote(out_track_sequence(ROOM, OTHERS));
	write_instant(1, "first", 1);
	write_extent(file, 10);
	write_instant(2, "second", STEP_NS);
	write_extent(file, STEP_NS);
	write_extent(file, 2 * STEP_NS);
	write_instant(2, NULL, 3 * STEP_NS);
	write_extent(file, 3 * STEP_NS);
	ck_assert_int_eq(fclose(file), 0);
}

/* Its first packet clears all names of the sequence. */
TEST(names_of_a_skipped_part_outlive_the_first_packet_of_their_sequence)
{
	const struct time_range ranges[] = {
		{ START_NS, START_NS + 100 },
		{ START_NS + 3 * STEP_NS, START_NS + 3 * STEP_NS + 1 },
	};
	const struct parts_choice choice = { .ranges = ranges,
					     .range_count =
						     ARRAY_SIZE(ranges) };
	struct trace_reader *reader;
	struct trace_index *index;
	struct trace_event event;
	char got[64] = "";

	write_trace();
	index = make_index();
	ck_assert_uint_gt(index->extent_count, 3);
	ck_assert_int_eq(
		trace_reader_open_parts(TRACE_NAME, index, &choice, &reader),
		0);
	while (trace_reader_next(reader, &event) > 0)
		if (event.kind == TRACE_INSTANT) {
			strcat(got, trace_reader_text(reader, event.name));
			strcat(got, " ");
		}
	ck_assert_str_eq(got, "first second ");
	trace_reader_close(&reader);
	trace_index_free(&index);
	ck_assert_int_eq(unlink(INDEX_NAME) | unlink(TRACE_NAME), 0);
}

/* Writes main, with @rounds calls of "outer" that make 30,000 calls each. Returns
 * the time at the end. */
static uint64_t write_rounds(int rounds)
{
	const struct out_name names[] = { { 1, "main" },
					  { 2, "outer" },
					  { 3, "leaf" } };
	FILE *file = fopen(TRACE_NAME, "we");
	uint64_t ns = 10;

	ck_assert_ptr_nonnull(file);
	write_trace_head(SEQUENCE, 8, names, ARRAY_SIZE(names));
	write_begin(1, ns);
	for (int i = 0; i < rounds; i++) {
		write_begin(2, ns += 7);
		for (int j = 0; j < 30000; j++) {
			write_begin(3, ns += 3);
			write_end(ns += 5 + (uint64_t)j % 11);
			if (j % 1000 == 0)
				flush_to(file);
		}
		write_end(ns += 2);
	}
	write_end(ns += 1);
	flush_to(file);
	ck_assert_int_eq(fclose(file), 0);
	return ns;
}

/* Returns a sum over the slices of @range of the time of their callees, weighted by
 * their begins. Sets *@packets to the number that was read. */
static uint64_t sum_callees_of(const struct trace_index *index,
			       const struct time_range *range,
			       uint64_t *packets)
{
	const struct parts_choice choice = {
		.ranges = range, .range_count = 1, .ends = true, .callees = true
	};
	struct trace_reader *reader;
	struct trace_event event;
	uint64_t sum = 0;

	ck_assert_int_eq(
		trace_reader_open_parts(TRACE_NAME, index, &choice, &reader),
		0);
	while (trace_reader_next(reader, &event) > 0)
		if (event.kind == TRACE_END && event.ns >= range->from_ns &&
		    event.slice->begin_ns < range->to_ns)
			sum += (event.slice->callee_ns + 1) *
			       (event.slice->begin_ns - START_NS);
	*packets = trace_reader_totals(reader).packets;
	trace_reader_close(&reader);
	return sum;
}

/* The callees of main are in all chunks of its thread. */
TEST(skipped_callees_count_for_their_callers)
{
	uint64_t end = write_rounds(20);
	struct trace_index *index = make_index();

	ck_assert_uint_gt(index->sequences[0].chunk_count, 6);
	for (uint64_t i = 0; i < 20; i++) {
		const struct time_range range = {
			START_NS + end / 20 * i + 11,
			START_NS + end / 20 * i + 20000,
		};
		uint64_t packets, all;
		uint64_t sum = sum_callees_of(index, &range, &packets);

		ck_assert_uint_eq(sum, sum_callees_of(NULL, &range, &all));
		ck_assert_uint_lt(packets, all * 3 / 4);
	}
	trace_index_free(&index);
	ck_assert_int_eq(unlink(INDEX_NAME) | unlink(TRACE_NAME), 0);
}

/* The reader reads the chunk instead. */
TEST(skipped_callees_of_unreadable_sums_count_for_their_callers)
{
	uint64_t end = write_rounds(20), packets, all;
	struct trace_index *index = make_index();
	const struct time_range range = { START_NS + end / 2,
					  START_NS + end / 2 + 20000 };

	index->sequences[0].chunks[1].row_count += 1000;
	ck_assert_uint_eq(sum_callees_of(index, &range, &packets),
			  sum_callees_of(NULL, &range, &all));
	ck_assert_uint_lt(packets, all * 3 / 4);
	trace_index_free(&index);
	ck_assert_int_eq(unlink(INDEX_NAME) | unlink(TRACE_NAME), 0);
}

SUITE(scratch_enter, scratch_leave);
