/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/packet_look.h"

#include "shared/compiler.h"

#define CLOCK_BOOTTIME_ID 6
#define CLOCK_SEQUENCE_FIRST 64

/* The times in a packed list: one, and then steps. */
static void take_times(struct index_get list, struct packet_look *packet)
{
	uint64_t ns = 0;

	while (!list.bad && list.at != list.end) {
		ns += index_get_number(&list);
		if (!packet->stamped)
			packet->first_ns = ns;
		packet->stamped = true;
		packet->last_ns = MAX(packet->last_ns, ns);
	}
}

/* The times of an FtraceEventBundle. */
static void take_ftrace(struct packet_look *packet)
{
	struct index_get fields = packet->ftrace;
	struct packet_field field;

	while (packet_field_next(&fields, &field)) {
		struct index_get sched = packet_field_part(&field);

		if (field.tag != TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED)
			continue;
		while (packet_field_next(&sched, &field))
			if (field.tag ==
			    TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP)
				take_times(packet_field_part(&field), packet);
	}
}

void packet_look(struct index_get fields, struct packet_look *packet)
{
	uint64_t clock = CLOCK_BOOTTIME_ID;
	struct packet_field field;

	*packet = (struct packet_look){ 0 };
	while (packet_field_next(&fields, &field))
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
			packet->event = packet_field_part(&field);
			break;
		case TAG_TRACE_PACKET_PERF_SAMPLE:
			packet->sample = true;
			break;
		case TAG_TRACE_PACKET_FTRACE_EVENTS:
			packet->ftrace = packet_field_part(&field);
			break;
		case TAG_TRACE_PACKET_INTERNED_DATA:
			packet->interned = packet_field_part(&field);
			break;
		case TAG_TRACE_PACKET_TRACK_DESCRIPTOR:
			packet->descriptor = packet_field_part(&field);
			packet->more = true;
			break;
		default:
			packet->more = true;
		}
	if (packet->ftrace.at)
		take_ftrace(packet);
	/* A step of 0 is one from a thread's last event. */
	packet->stamped &= clock < CLOCK_SEQUENCE_FIRST && packet->last_ns;
}

void packet_look_at_event(struct index_get fields, struct packet_event *out)
{
	struct packet_field field;

	*out = (struct packet_event){ 0 };
	while (packet_field_next(&fields, &field))
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
