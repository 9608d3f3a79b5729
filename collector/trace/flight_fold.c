/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_fold - replaces a segment by its end state: see flight_memory_inner.h.
 */
#include "collector/trace/flight_memory_inner.h"

#include <stdlib.h>

#include "collector/base/bytes.h"
#include "collector/base/grow.h"
#include "collector/trace/compact.h"
#include "collector/trace/packet_look.h"

struct open_slices {
	struct compact_slice *list;
	uint32_t count, room;
	bool failed;
};

static void push(struct open_slices *open, const struct compact_slice *slice)
{
	if (grow_array(open->list, open->room, open->count + 1u))
		open->failed = true;
	else
		open->list[open->count++] = *slice;
}

static void pop(struct open_slices *open)
{
	open->failed |= !open->count;
	open->count -= open->count > 0;
}

/* A packet may also begin or end a slice on the track of the sequence. */
static void follow_packet(struct open_slices *open,
			  const struct compact_event *event, uint64_t ns)
{
	struct wire whole = { .at = event->packet,
			      .end = event->packet + event->packet_bytes };
	struct packet_event about = { 0 };
	struct packet_look packet;
	struct wire_field field;

	if (!wire_next(&whole, &field))
		return;
	packet_look(wire_of(&field), &packet);
	if (packet.event.at)
		packet_look_at_event(packet.event, &about);
	if (about.track)
		return;
	if (about.type == TYPE_SLICE_BEGIN)
		push(open,
		     &(struct compact_slice){ .begin_ns = ns, .noted = true });
	else if (about.type == TYPE_SLICE_END)
		pop(open);
}

static void follow_restart(struct open_slices *open, struct compact *from,
			   uint32_t count)
{
	struct compact_slice slice;
	uint64_t begin_ns = 0;

	open->count = 0;
	while (count-- && compact_open(from, &begin_ns, &slice))
		push(open, &slice);
}

static void apply_events(struct open_slices *open, struct compact *from)
{
	struct compact_event event;

	while ((event = compact_next(from)).kind)
		switch (event.kind) {
		case COMPACT_IS_BEGIN:
			push(open, &(struct compact_slice){
					   .name_iid = event.name_iid,
					   .begin_ns = from->ns });
			break;
		case COMPACT_IS_END:
			pop(open);
			break;
		case COMPACT_IS_PACKET:
			follow_packet(open, &event, from->ns);
			break;
		default:
			follow_restart(open, from, event.open);
		}
}

static void put_folded_restart(const struct open_slices *open, uint64_t ns,
			       struct bytes *out)
{
	uint8_t *at = bytes_add(out, COMPACT_RESTART_BYTES(open->count));
	uint64_t begin_ns = 0;

	if (!at)
		return;
	at = compact_put_restart(at, ns, open->count);
	for (uint32_t i = 0; i < open->count; i++)
		at = compact_put_open(at, &begin_ns, &open->list[i]);
	out->count = (size_t)(at - out->at);
}

bool flight_segment_fold(const struct flight_cut *cut, uint64_t *ns,
			 struct bytes *out)
{
	struct open_slices open = { 0 };
	struct flight_part *part = NULL;
	uint32_t bytes;

	*ns = 0;
	while (flight_cut_next(cut, &part, &bytes)) {
		struct compact from = { part->at, part->at + bytes, *ns };

		apply_events(&open, &from);
		*ns = from.ns;
	}
	if (!open.failed)
		put_folded_restart(&open, *ns, out);
	free(open.list);
	return !open.failed && !out->failed;
}
