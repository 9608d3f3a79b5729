/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/packet_look.h"

#include "shared/compiler.h"

/* Reads the times of a packed list: an absolute one, then steps. */
static void take_switch_times(struct wire list, struct packet_look *packet)
{
	uint64_t ns = 0, step;

	while (wire_varint(&list, &step)) {
		ns += step;
		if (!packet->stamped)
			packet->first_ns = ns;
		packet->stamped = true;
		packet->last_ns = MAX(packet->last_ns, ns);
	}
}

static void take_ftrace(struct packet_look *packet)
{
	struct wire fields = packet->ftrace;
	struct wire_field field;

	while (wire_next(&fields, &field)) {
		struct wire sched = wire_of(&field);

		if (field.tag != TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED)
			continue;
		while (wire_next(&sched, &field))
			if (field.tag ==
			    TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP)
				take_switch_times(wire_of(&field), packet);
	}
}

void packet_look(struct wire fields, struct packet_look *packet)
{
	uint64_t clock = CLOCK_BOOTTIME_ID;
	struct wire_field field;

	*packet = (struct packet_look){ 0 };
	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
			packet->sequence = (uint32_t)field.value;
			break;
		case TAG_TRACE_PACKET_TIMESTAMP:
			packet->first_ns = packet->last_ns = field.value;
			packet->stamped = true;
			break;
		case TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
			clock = field.value;
			break;
		case TAG_TRACE_PACKET_TRACK_EVENT:
			packet->event = wire_of(&field);
			break;
		case TAG_TRACE_PACKET_PERF_SAMPLE:
			packet->sample = true;
			break;
		case TAG_TRACE_PACKET_FTRACE_EVENTS:
			packet->ftrace = wire_of(&field);
			break;
		case TAG_TRACE_PACKET_INTERNED_DATA:
			packet->interned = wire_of(&field);
			break;
		case TAG_TRACE_PACKET_TRACK_DESCRIPTOR:
			packet->descriptor = wire_of(&field);
			packet->more = true;
			break;
		default:
			packet->more = true;
		}
	if (packet->ftrace.at)
		take_ftrace(packet);
	/* A step of 0 is relative to a thread's last event. */
	packet->stamped &= clock < CLOCK_SEQUENCE_FIRST && packet->last_ns;
}

void packet_look_at_event(struct wire fields, struct packet_event *out)
{
	struct wire_field field;

	*out = (struct packet_event){ 0 };
	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_TRACK_EVENT_TYPE:
			out->type = (uint32_t)field.value;
			break;
		case TAG_TRACK_EVENT_TRACK_UUID:
			out->track = field.value;
			break;
		case TAG_TRACK_EVENT_COUNTER_VALUE:
			out->value = field.value;
			break;
		case TAG_TRACK_EVENT_DOUBLE_COUNTER_VALUE:
			out->is_double = true;
			out->value = field.value;
			break;
		}
}
