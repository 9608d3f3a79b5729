/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_leave - extracts the lasting state of a segment before it is dropped:
 * see flight_memory_inner.h.
 */
#include "collector/trace/flight_memory_inner.h"

#include <stdlib.h>

#include "collector/base/bytes.h"
#include "collector/base/grow.h"
#include "collector/trace/compact.h"
#include "collector/trace/packet_look.h"
#include "shared/compiler.h"

struct leaving {
	struct flight_left *left;
	struct flight_text *kept;
};

static void leave_interned(const struct leaving *to,
			   const struct packet_look *packet)
{
	size_t count = (size_t)(packet->interned.end - packet->interned.at);
	struct bytes fields = { 0 }, out = { 0 };

	bytes_field(&fields, TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
		    packet->sequence);
	bytes_part(&fields, TAG_TRACE_PACKET_INTERNED_DATA, packet->interned.at,
		   count);
	bytes_part(&out, TAG_TRACE_PACKET, fields.at, fields.count);
	if (fields.failed || out.failed ||
	    !flight_text_put(to->kept, out.at, out.count))
		to->left->lost = true;
	bytes_release(&fields);
	bytes_release(&out);
}

/* Takes the packet at @bytes, which has its tag and length. @ns: the sequence's
 * clock after it. */
static void leave_packet(const struct leaving *to, const uint8_t *bytes,
			 size_t count, uint64_t ns, uint64_t delta_ns)
{
	struct wire whole = { .at = bytes, .end = bytes + count };
	struct packet_event event;
	struct packet_look packet;
	struct wire_field field;

	if (!wire_next(&whole, &field) || !field.bytes)
		return;
	packet_look(wire_of(&field), &packet);
	if (packet.interned.at && packet_is_event(&packet) && to->kept)
		leave_interned(to, &packet);
	if (!packet.event.at)
		return;
	packet_look_at_event(packet.event, &event);
	flight_left_take(to->left, &(struct left_event){ .track = event.track,
							 .type = event.type,
							 .ns = ns,
							 .delta_ns = delta_ns,
							 .packet = bytes,
							 .bytes = count });
}

static void leave_packets(const struct leaving *to, const uint8_t *bytes,
			  size_t count)
{
	struct wire left = { .at = bytes, .end = bytes + count };
	const uint8_t *start = bytes;
	struct wire_field field;

	for (; wire_next(&left, &field); start = left.at)
		leave_packet(to, start, (size_t)(left.at - start), 0, 0);
}

/* Drops noted begins that are closed: those without an entry in the restart
 * point of the next segment. */
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

/* *@ns: time of the last event, before and after the call. */
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
