/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/out_track.h"

#include <string.h>

#include "collector/trace/out_perfetto.h"
#include "collector/trace/packet.h"

#define MERGE_BY_KEY \
	PERFETTO__PROTOS__TRACK_DESCRIPTOR__SIBLING_MERGE_BEHAVIOR__SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY

static size_t pack_track(uint8_t *buffer, size_t size,
			 Perfetto__Protos__TrackDescriptor *track)
{
	pb_packet packet = PACKET_INIT;

	packet.track_descriptor = track;
	SET(&packet, trusted_packet_sequence_id, OUT_SEQUENCE_GLOBAL);
	return packet_pack(buffer, size, &packet);
}

/* protobuf-c takes a char * but only reads the text. */
static char *optional_text(const char *s)
{
	return s && *s ? (char *)s : NULL;
}

size_t out_track_counter(uint8_t *buffer, size_t size,
			 const struct out_counter *counter)
{
	Perfetto__Protos__TrackDescriptor track =
		PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__CounterDescriptor message =
		PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;

	if (counter->unit == UNIT_CUSTOM)
		message.unit_name = optional_text(counter->unit_name);
	else if (counter->unit != UNIT_UNSPECIFIED)
		/* enum site_unit has the numbers of the format. */
		SET(&message, unit,
		    (Perfetto__Protos__CounterDescriptor__Unit)counter->unit);
	if (counter->multiplier != 1)
		SET(&message, unit_multiplier, counter->multiplier);
	SET(&track, uuid, counter->uuid);
	SET(&track, parent_uuid, counter->parent);
	track.name = optional_text(counter->name);
	track.description = optional_text(counter->description);
	track.counter = &message;
	return pack_track(buffer, size, &track);
}

size_t out_track_track(uint8_t *buffer, size_t size,
		       const struct out_track *track)
{
	Perfetto__Protos__TrackDescriptor message =
		PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__StateDescriptor state =
		PERFETTO__PROTOS__STATE_DESCRIPTOR__INIT;

	SET(&message, uuid, track->uuid);
	if (track->parent)
		SET(&message, parent_uuid, track->parent);
	message.name = optional_text(track->name);
	message.description = optional_text(track->description);
	if (track->order)
		/* enum track_order has the numbers of the format. */
		SET(&message, child_ordering,
		    (Perfetto__Protos__TrackDescriptor__ChildTracksOrdering)
			    track->order);
	if (track->ranked)
		SET(&message, sibling_order_rank, track->rank);
	if (track->merge_key) {
		SET(&message, sibling_merge_behavior, MERGE_BY_KEY);
		SET(&message, sibling_merge_key_int, track->merge_key);
	}
	if (track->states)
		message.state = &state;
	return pack_track(buffer, size, &message);
}

static size_t pack_event(uint8_t *buffer, size_t size, uint32_t sequence,
			 uint64_t ns, Perfetto__Protos__TrackEvent *event)
{
	pb_packet packet = PACKET_INIT;

	SET(&packet, timestamp, ns);
	SET(&packet, trusted_packet_sequence_id, sequence);
	packet.track_event = event;
	return packet_pack(buffer, size, &packet);
}

size_t out_track_value(uint8_t *buffer, size_t size, uint32_t sequence,
		       uint64_t uuid, uint64_t ns, int64_t value)
{
	Perfetto__Protos__TrackEvent event =
		PERFETTO__PROTOS__TRACK_EVENT__INIT;

	SET(&event, type, PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER);
	SET(&event, track_uuid, uuid);
	SET(&event, counter_value, value);
	return pack_event(buffer, size, sequence, ns, &event);
}

size_t out_track_instant(uint8_t *buffer, size_t size, uint32_t sequence,
			 uint64_t uuid, uint64_t ns, const char *name)
{
	Perfetto__Protos__TrackEvent event =
		PERFETTO__PROTOS__TRACK_EVENT__INIT;

	SET(&event, type, PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT);
	SET(&event, track_uuid, uuid);
	event.name = optional_text(name);
	return pack_event(buffer, size, sequence, ns, &event);
}

size_t out_track_sequence(uint8_t *buffer, size_t size, uint32_t sequence)
{
	pb_packet packet = PACKET_INIT;
	Perfetto__Protos__TracePacketDefaults defaults =
		PERFETTO__PROTOS__TRACE_PACKET_DEFAULTS__INIT;

	SET(&defaults, timestamp_clock_id, BUILTIN_CLOCK(BOOTTIME));
	packet.trace_packet_defaults = &defaults;
	SET(&packet, sequence_flags,
	    SEQUENCE_FLAG(INCREMENTAL_STATE_CLEARED) |
		    SEQUENCE_FLAG(NEEDS_INCREMENTAL_STATE));
	SET(&packet, first_packet_on_sequence, 1);
	SET(&packet, trusted_packet_sequence_id, sequence);
	return packet_pack(buffer, size, &packet);
}
