/* SPDX-License-Identifier: Apache-2.0
 *
 * test_window_run - a run of plain events stops where a packet has to add what
 * the cut lacks. test_flight_write compares the output of runs with cuts.
 */

#include "collector/base/bytes.h"
#include "collector/base/protobuf.h"
#include "collector/cut/packet_window.h"
#include "collector/trace/compact.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"
#include "tests/suite.h"

#define SEQUENCE 7
#define START_NS 1000
#define TO_NS 100000

static struct {
	struct cut_range range;
	struct cut_ranges ranges;
	char *text;
	size_t text_bytes;
	FILE *out;
	struct cut_file file;
	struct packet_window *window;
	struct encoder plain, compact;
	uint8_t bytes[4096]; /* in the compact form */
} g;

static void give(const uint8_t *at, size_t bytes)
{
	struct wire left = { .at = at, .end = at + bytes };
	struct wire_field field;

	while (wire_next(&left, &field))
		packet_window_take(g.window,
				   &(struct trace_packet_bytes){ field.bytes,
								 field.value });
}

static void give_name(uint32_t iid, const char *text)
{
	static uint8_t packet[OUT_NAME_BYTES];
	const struct out_name name = { iid, text };

	give(packet,
	     out_perfetto_names(packet, sizeof(packet), SEQUENCE, &name, 1));
}

/* @iid 0: an end. */
static void give_event(uint64_t ns, uint32_t iid)
{
	const struct encode_template begin = encode_template(&g.plain, iid);
	uint8_t packet[ENCODE_EVENT_BYTES];

	g.plain.out = packet;
	encode_begin(&g.plain, ns, &begin);
	give(packet, (size_t)(g.plain.out - packet));
}

static void put(uint64_t ns, uint32_t iid)
{
	const struct encode_template event = encode_template(&g.compact, iid);

	encode_begin(&g.compact, ns, iid ? &event : &g.compact.end);
	/* Restart points. */
	memset(g.compact.out, 1, 16);
}

static uint64_t run(uint64_t ns, uint32_t sequence)
{
	struct compact from = { g.bytes, g.bytes + sizeof(g.bytes), ns };
	uint64_t taken = packet_window_run(g.window, sequence, &from), events;
	struct compact same = { g.bytes, g.bytes + sizeof(g.bytes), ns };

	for (events = 0; same.at < from.at; events++)
		(void)compact_next(&same);
	ck_assert_uint_eq(events, taken);
	ck_assert_ptr_eq(same.at, from.at);
	ck_assert_uint_eq(same.ns, from.ns);
	return taken;
}

static void set_up(void)
{
	const struct out_thread thread = { .uuid = 70,
					   .sequence = SEQUENCE,
					   .pid = 10,
					   .tid = 11,
					   .start_ns = START_NS };
	uint8_t packet[512];

	memset(&g, 0, sizeof(g));
	g.range = (struct cut_range){ START_NS, TO_NS };
	g.ranges = (struct cut_ranges){ &g.range, 1, 1 };
	g.out = open_memstream(&g.text, &g.text_bytes);
	ck_assert_int_eq(cut_file_begin(&g.file, g.out, false), 0);
	ck_assert_int_eq(packet_window_new(&g.ranges, &g.file, NULL, &g.window),
			 0);
	give(packet, out_perfetto_thread(packet, sizeof(packet), &thread));
	encoder_init(&g.plain, SEQUENCE, START_NS);
	encoder_init_compact(&g.compact, SEQUENCE, START_NS);
	g.compact.out = g.bytes;
	give_name(1, "one");
	give_name(2, "two");
}

static void tear_down(void)
{
	packet_window_free(&g.window);
	ck_assert_int_eq(cut_file_end(&g.file), 0);
	fclose(g.out);
	free(g.text);
}

/* The cut has names 1 and 2, and a slice is open. */
static void begin(void)
{
	give_event(2000, 1);
	give_event(2010, 2);
	give_event(2015, 1);
	give_event(2017, 0);
	give_event(2020, 0);
	g.compact.last_ns = 2020;
}

FIXTURE(set_up, tear_down);

TEST(run_waits_for_packets_that_say_what_it_needs)
{
	g.compact.last_ns = START_NS;
	put(2000, 1);
	ck_assert_uint_eq(run(START_NS, SEQUENCE), 0);
	give_event(2000, 1);
	give_event(2010, 0);
	g.compact.out = g.bytes;
	g.compact.last_ns = 2010;
	put(2020, 1);
	put(2030, 0);
	put(2040, 2); /* the cut lacks this name */
	ck_assert_uint_eq(run(2010, SEQUENCE), 2);
}

TEST(run_takes_plain_events)
{
	begin();
	for (uint32_t i = 0; i < 300; i++)
		put(2100 + 300 * i, i % 4 < 2 ? 1 + i % 4 : 0);
	ck_assert_uint_eq(run(2020, SEQUENCE), 300);
	ck_assert_uint_eq(packet_window_totals(g.window).slices, 3 + 150);
	ck_assert_uint_eq(packet_window_totals(g.window).bad_events, 0);
	ck_assert_uint_eq(packet_window_totals(g.window).last_ns,
			  2100 + 300 * 299);
}

TEST(run_is_of_one_sequence)
{
	begin();
	put(2030, 1);
	ck_assert_uint_eq(run(2020, SEQUENCE + 1), 0);
	ck_assert_uint_eq(run(2020, SEQUENCE), 1);
}

TEST(run_stops_where_the_range_ends)
{
	begin();
	put(TO_NS - 2, 1);
	put(TO_NS - 1, 0);
	put(TO_NS, 1);
	ck_assert_uint_eq(run(2020, SEQUENCE), 2);
}

TEST(run_stops_at_a_name_that_has_changed)
{
	begin();
	put(2030, 1);
	put(2040, 0);
	ck_assert_uint_eq(run(2020, SEQUENCE), 2);
	give_name(1, "another");
	g.compact.out = g.bytes;
	put(2050, 2);
	put(2060, 0);
	put(2070, 1);
	ck_assert_uint_eq(run(2040, SEQUENCE), 2);
}

TEST(run_stops_at_names_of_sites_and_at_other_events)
{
	begin();
	put(2030, 1);
	put(2040, 2 | ENCODE_LOCATION);
	ck_assert_uint_eq(run(2020, SEQUENCE), 1);
	/* A packet. */
	memset(g.bytes, 1, sizeof(g.bytes));
	g.bytes[1] = 0;
	ck_assert_uint_eq(run(2030, SEQUENCE), 0);
	/* A restart point. */
	g.bytes[1] = COMPACT_RESTART;
	ck_assert_uint_eq(run(2030, SEQUENCE), 0);
}

TEST(run_stops_at_an_end_of_nothing)
{
	begin();
	put(2030, 0);
	put(2040, 0);
	put(2050, 0);
	ck_assert_uint_eq(run(2020, SEQUENCE), 1);
}

TEST(run_does_not_go_back_in_time)
{
	begin();
	put(2030, 1);
	ck_assert_uint_eq(run(2010, SEQUENCE), 0);
}
