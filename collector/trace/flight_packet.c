/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_packet - what a packet is, and what a segment leaves behind when it is
 * forgotten: see flight_memory_inner.h.
 */
#include "collector/base/grow.h"
#include "collector/base/bytes.h"
#include "collector/trace/compact.h"
#include "collector/trace/flight_memory_inner.h"

#include <stdlib.h>

#include "shared/compiler.h"

#define CLOCK_SEQUENCE_FIRST 64

/* The times in a packed list: one, and then steps. */
static void look_at_times(struct index_get list, struct flight_packet *out)
{
	uint64_t ns = 0;

	while (!list.bad && list.at != list.end) {
		ns += index_get_number(&list);
		if (!out->stamped)
			out->first_ns = ns;
		out->stamped = true;
		out->last_ns = MAX(out->last_ns, ns);
	}
}

/* An FtraceEventBundle. */
static void look_at_switches(struct index_get fields, struct flight_packet *out)
{
	struct packet_field field;

	while (packet_field_next(&fields, &field)) {
		struct index_get sched = packet_field_part(&field);

		if (field.tag != TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED)
			continue;
		while (packet_field_next(&sched, &field))
			if (field.tag ==
			    TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP)
				look_at_times(packet_field_part(&field), out);
	}
}

static void look_at_event(struct index_get fields, struct flight_packet *out)
{
	struct packet_field field;

	out->track_event = fields;
	while (packet_field_next(&fields, &field))
		if (field.tag == TAG_TRACK_EVENT_TYPE)
			out->type = (uint32_t)field.value;
		else if (field.tag == TAG_TRACK_EVENT_TRACK_UUID)
			out->track = field.value;
}

void flight_packet_look(struct index_get fields, struct flight_packet *out)
{
	struct packet_field field;
	uint64_t ns = 0, clock = 0;
	bool has_ns = false;

	*out = (struct flight_packet){ 0 };
	while (packet_field_next(&fields, &field))
		switch (field.tag) {
		case TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
			out->sequence = (uint32_t)field.value;
			break;
		case TAG_TRACE_PACKET_TIMESTAMP:
			ns = field.value;
			has_ns = true;
			break;
		case TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
			clock = field.value;
			break;
		case TAG_TRACE_PACKET_TRACK_EVENT:
			out->event = true;
			look_at_event(packet_field_part(&field), out);
			break;
		case TAG_TRACE_PACKET_FTRACE_EVENTS:
			out->event = true;
			look_at_switches(packet_field_part(&field), out);
			break;
		case TAG_TRACE_PACKET_PERF_SAMPLE:
			out->event = true;
			break;
		case TAG_TRACE_PACKET_INTERNED_DATA:
			out->interned = packet_field_part(&field);
			break;
		default:
			break;
		}
	if (has_ns && out->event && clock < CLOCK_SEQUENCE_FIRST) {
		out->first_ns = out->last_ns = ns;
		out->stamped = true;
	}
}

/* --- what is left behind ----------------------------------------------------
 */

/* Where what a segment leaves behind goes. */
struct leaving {
	struct flight_left *left;
	struct flight_text *kept;
};

static void leave_interned(const struct leaving *to,
			   const struct flight_packet *packet)
{
	size_t count = (size_t)(packet->interned.end - packet->interned.at);
	struct bytes fields = { 0 }, out = { 0 };

	bytes_field(&fields, TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
		    packet->sequence);
	bytes_field(&fields, TAG_TRACE_PACKET_INTERNED_DATA, count);
	bytes_put(&fields, packet->interned.at, count);
	bytes_field(&out, TAG_TRACE_PACKET, fields.count);
	bytes_put(&out, fields.at, fields.count);
	if (fields.failed || out.failed ||
	    !flight_text_put(to->kept, out.at, out.count))
		to->left->lost = true;
	bytes_release(&fields);
	bytes_release(&out);
}

/* The packet at @bytes, with its tag and length; @ns: of the sequence's clock
 * behind it. */
static void leave_packet(const struct leaving *to, const uint8_t *bytes,
			 size_t count, uint64_t ns, uint64_t delta_ns)
{
	struct index_get whole = { .at = bytes, .end = bytes + count };
	struct flight_packet packet;
	struct packet_field field;

	if (!packet_field_next(&whole, &field) || !field.bytes)
		return;
	flight_packet_look(packet_field_part(&field), &packet);
	if (packet.interned.at && packet.event && to->kept)
		leave_interned(to, &packet);
	if (!packet.track_event.at)
		return;
	flight_left_take(to->left, &(struct left_event){ .track = packet.track,
							 .type = packet.type,
							 .ns = ns,
							 .delta_ns = delta_ns,
							 .packet = bytes,
							 .bytes = count });
}

/* *@ns: of the last event, before and after. */
static void leave_compact(const struct leaving *to, const uint8_t *bytes,
			  size_t count, uint64_t *ns)
{
	struct compact from = { bytes, bytes + count, *ns };
	struct compact_event event;
	struct compact_slice slice;

	while ((event = compact_next(&from)).kind) {
		uint64_t begin_ns = 0;

		if (event.kind == COMPACT_IS_PACKET)
			leave_packet(to, event.packet, event.packet_bytes,
				     from.ns, event.delta_ns);
		while (event.kind == COMPACT_IS_RESTART && event.open--)
			compact_open(&from, &begin_ns, &slice);
	}
	*ns = from.ns;
}

static void leave_packets(const struct leaving *to, const uint8_t *bytes,
			  size_t count)
{
	struct index_get left = { .at = bytes, .end = bytes + count };
	const uint8_t *start = bytes;
	struct packet_field field;

	for (; packet_field_next(&left, &field); start = left.at)
		leave_packet(to, start, (size_t)(left.at - start), 0, 0);
}

/* Of noted begins only those are open that the restart point of the segment
 * which follows has. */
static void leave_open(const struct flight_cut *next, struct flight_left *left)
{
	struct flight_part *part = NULL;
	struct compact_slice slice;
	struct compact_event event;
	struct compact from;
	uint64_t begin_ns = 0, *begins = NULL;
	uint32_t bytes, count = 0, room = 0;

	if (next && flight_cut_next(next, &part, &bytes)) {
		from = (struct compact){ .at = part->at,
					 .end = part->at + bytes };
		event = compact_next(&from);
		while (event.kind == COMPACT_IS_RESTART && event.open-- &&
		       compact_open(&from, &begin_ns, &slice)) {
			if (!slice.noted)
				continue;
			if (grow_array(begins, room, count + 1u))
				break;
			begins[count++] = slice.begin_ns;
		}
	}
	flight_left_only(left, begins, count);
	free(begins);
}

void flight_segment_leave(const struct flight_segment *segment,
			  const struct flight_cut *cut,
			  const struct flight_cut *next,
			  struct flight_left *left, struct flight_text *kept)
{
	const struct leaving to = { .left = left, .kept = kept };
	struct flight_part *part = NULL;
	uint64_t ns = 0;
	uint32_t bytes;

	while (segment->packets && flight_cut_next(cut, &part, &bytes)) {
		if (segment->of->compact)
			leave_compact(&to, part->at, bytes, &ns);
		else
			leave_packets(&to, part->at, bytes);
	}
	if (segment->of->compact)
		leave_open(next, left);
}
