/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the templates with protobuf-c: every event, with values of any
 * length, unpacks to the same message and is as short as generated code makes
 * it.
 */

#include "collector/trace/encode.h"
#include "collector/trace/out_perfetto.h"
#include "proto/perfetto_trace.pb-c.h"
#include "tests/suite.h"

#define BEGIN PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN
#define END PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END
#define START_NS 1234567890123ULL
#define CANARY 0xa5

/* Both sides of each change of length and of each template limit. */
static const uint64_t g_deltas[] = {
	0,	    1,		0x7f,	     0x80,
	0x3fff,	    0x4000,	0x1fffff,    0x200000,
	0xfffffff,  0x10000000, 0x7ffffffff, 0x800000000,
	1ULL << 42, 1ULL << 49, 1ULL << 56,  INT64_MAX,
};
static const uint32_t g_iids[] = {
	1,	  2,	    0x7f,      0x80,	   0x3fff,	    0x4000,
	0x1fffff, 0x200000, 0xfffffff, 0x10000000, ENCODE_IID_MASK,
};
/* A name alone, and with the data of a site. */
static const uint32_t g_flags[] = { 0, ENCODE_CATEGORY, ENCODE_LOCATION,
				    ENCODE_CATEGORY | ENCODE_LOCATION };
static const uint32_t g_sequences[] = {
	1,	  2,	    0x7f,      0x80,	   0x3fff,     0x4000,
	0x1fffff, 0x200000, 0xfffffff, 0x10000000, UINT32_MAX,
};

static uint8_t g_buffer[2 * ENCODE_EVENT_BYTES];

static bool packet_says(const Perfetto__Protos__TracePacket *packet,
			uint32_t sequence, uint64_t delta, uint32_t flagged)
{
	const Perfetto__Protos__TrackEvent *event = packet->track_event;
	uint32_t iid = flagged & ENCODE_IID_MASK;

	return packet->has_timestamp && packet->timestamp == delta &&
	       packet->trusted_packet_sequence_id == sequence &&
	       packet->base.n_unknown_fields == 0 && event &&
	       event->base.n_unknown_fields == 0 &&
	       event->type == (iid ? BEGIN : END) &&
	       event->has_name_iid == (iid != 0) && event->name_iid == iid &&
	       event->n_category_iids == !!(flagged & ENCODE_CATEGORY) &&
	       (!event->n_category_iids || event->category_iids[0] == iid) &&
	       event->has_source_location_iid ==
		       !!(flagged & ENCODE_LOCATION) &&
	       (!event->has_source_location_iid ||
		event->source_location_iid == iid);
}

/* True if g_buffer has exactly this packet, in its shortest form. */
static bool bytes_say(size_t bytes, uint32_t sequence, uint64_t delta,
		      uint32_t iid)
{
	Perfetto__Protos__Trace *trace =
		perfetto__protos__trace__unpack(NULL, bytes, g_buffer);
	bool good = trace && trace->n_packet == 1 &&
		    packet_says(trace->packet[0], sequence, delta, iid) &&
		    perfetto__protos__trace__get_packed_size(trace) == bytes;

	if (trace)
		perfetto__protos__trace__free_unpacked(trace, NULL);
	return good;
}

static bool canary_lives(void)
{
	for (size_t i = ENCODE_EVENT_BYTES; i < sizeof(g_buffer); i++)
		if (g_buffer[i] != CANARY)
			return false;
	return true;
}

static void encode_and_check(uint32_t sequence, uint64_t delta, uint32_t iid)
{
	struct encode_template begin;
	struct encoder encoder;

	memset(g_buffer, CANARY, sizeof(g_buffer));
	encoder_init(&encoder, sequence, START_NS);
	encoder.out = g_buffer;
	begin = encode_template(&encoder, iid);
	if (iid)
		encode_begin(&encoder, START_NS + delta, &begin);
	else
		encode_end(&encoder, START_NS + delta);

	/* One combined check is faster than twenty assertions. */
	if (encoder.last_ns != START_NS + delta || !canary_lives() ||
	    !bytes_say((size_t)(encoder.out - g_buffer), sequence, delta, iid))
		ck_abort_msg("sequence %u, delta %lu, name %u", sequence, delta,
			     iid);
}

TEST(encode_begin_of_any_length_equals_protobuf)
{
	for (size_t s = 0; s < ARRAY_SIZE(g_sequences); s++)
		for (size_t d = 0; d < ARRAY_SIZE(g_deltas); d++)
			for (size_t n = 0; n < ARRAY_SIZE(g_iids); n++)
				encode_and_check(g_sequences[s], g_deltas[d],
						 g_iids[n]);
}

TEST(encode_begin_of_a_site_has_what_belongs_to_its_name)
{
	for (size_t s = 0; s < ARRAY_SIZE(g_sequences); s++)
		for (size_t n = 0; n < ARRAY_SIZE(g_iids); n++)
			for (size_t f = 0; f < ARRAY_SIZE(g_flags); f++)
				encode_and_check(g_sequences[s], g_deltas[s],
						 g_iids[n] | g_flags[f]);
}

/* The event holds encoded fields; its interned data follows. */
TEST(encode_event_with_fields_equals_protobuf)
{
	static const uint8_t fields[] = { 0x58, 0x07 }; /* track_uuid 7 */
	static const uint8_t interned[] = { 0x1a, 0x05, 0x08, 0x03,
					    0x12, 0x01, 'k' };
	struct encode_event event = { .type = 3,
				      .name_iid = 5 | ENCODE_CATEGORY,
				      .fields = fields,
				      .field_bytes = sizeof(fields),
				      .interned = interned,
				      .interned_bytes = sizeof(interned) };

	for (size_t s = 0; s < ARRAY_SIZE(g_sequences); s++) {
		for (size_t d = 0; d < ARRAY_SIZE(g_deltas); d++) {
			struct encoder encoder;
			Perfetto__Protos__Trace *trace;
			const Perfetto__Protos__TracePacket *packet;
			size_t bytes;

			event.absolute = d & 1;
			encoder_init(&encoder, g_sequences[s], START_NS);
			encoder.out = g_buffer;
			encode_event(&encoder, START_NS + g_deltas[d], &event);
			bytes = (size_t)(encoder.out - g_buffer);
			ck_assert_uint_le(bytes, encode_event_bytes(&event));
			trace = perfetto__protos__trace__unpack(NULL, bytes,
								g_buffer);
			ck_assert_ptr_nonnull(trace);
			ck_assert_uint_eq(trace->n_packet, 1);
			packet = trace->packet[0];
			ck_assert_uint_eq(packet->timestamp,
					  g_deltas[d] + (d & 1 ? START_NS : 0));
			ck_assert_uint_eq(packet->timestamp_clock_id,
					  d & 1 ? 6 : 0);
			ck_assert_uint_eq(encoder.last_ns,
					  START_NS + (d & 1 ? 0 : g_deltas[d]));
			ck_assert_uint_eq(packet->trusted_packet_sequence_id,
					  g_sequences[s]);
			ck_assert_uint_eq(packet->track_event->track_uuid, 7);
			ck_assert_uint_eq(packet->track_event->name_iid, 5);
			ck_assert_uint_eq(packet->track_event->category_iids[0],
					  5);
			ck_assert_str_eq(
				packet->interned_data->debug_annotation_names[0]
					->name,
				"k");
			perfetto__protos__trace__free_unpacked(trace, NULL);
		}
	}
}

TEST(encode_end_of_any_length_equals_protobuf)
{
	for (size_t s = 0; s < ARRAY_SIZE(g_sequences); s++)
		for (size_t d = 0; d < ARRAY_SIZE(g_deltas); d++)
			encode_and_check(g_sequences[s], g_deltas[d], 0);
}

TEST(encode_any_small_delta_equals_protobuf)
{
	for (uint64_t delta = 0; delta < 1u << 16; delta++)
		encode_and_check(5, delta, (uint32_t)delta + 1);
	for (uint64_t delta = 1u << 16; delta < 1u << 21; delta += 31)
		encode_and_check(5, delta, 0);
}

TEST(encode_many_events_join_without_gaps)
{
	enum { EVENTS = 1000 };
	static uint8_t buffer[EVENTS * ENCODE_EVENT_BYTES];
	Perfetto__Protos__Trace *trace;
	struct encoder encoder;
	uint64_t ns = START_NS, sum = 0;

	encoder_init(&encoder, 300, ns);
	encoder.out = buffer;
	for (uint32_t i = 0; i < EVENTS; i += 2) {
		struct encode_template begin = encode_template(&encoder, i + 1);

		encode_begin(&encoder, ns += i * i, &begin);
		encode_end(&encoder, ns += i * i * i);
	}
	trace = perfetto__protos__trace__unpack(
		NULL, (size_t)(encoder.out - buffer), buffer);
	ck_assert_ptr_nonnull(trace);
	ck_assert_uint_eq(trace->n_packet, EVENTS);
	for (size_t i = 0; i < EVENTS; i++)
		sum += trace->packet[i]->timestamp;
	ck_assert_uint_eq(sum, ns - START_NS);
	perfetto__protos__trace__free_unpacked(trace, NULL);
}
