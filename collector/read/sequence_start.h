/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_start - parses the number of a packet's sequence, and the fields of
 * a packet that starts a sequence: its clock and its defaults. Pure, any
 * thread.
 */
#ifndef PERFREC_COLLECTOR_READ_SEQUENCE_START_H
#define PERFREC_COLLECTOR_READ_SEQUENCE_START_H

#include "collector/base/protobuf.h"
#include "collector/trace/fields.h"

/* A flag of TracePacket.sequence_flags: SEQ_INCREMENTAL_STATE_CLEARED. */
#define SEQUENCE_CLEARED 1u

/* Returns the number of the packet's sequence, or 0. */
static inline uint64_t packet_sequence_id(struct wire packet)
{
	return wire_find(packet, TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID);
}

static inline bool is_clock_of_sequence(uint64_t clock)
{
	return clock >= CLOCK_SEQUENCE_FIRST && clock <= CLOCK_SEQUENCE_LAST;
}

struct snapshot_clock {
	uint64_t id, ns;
};

/* Reads the next clock of @snapshot, a ClockSnapshot. Returns false at the
 * end. */
static inline bool snapshot_clock_next(struct wire *snapshot,
				       struct snapshot_clock *out)
{
	struct wire_field field;
	struct wire clock;

	do {
		if (!wire_next(snapshot, &field))
			return false;
	} while (field.tag != TAG_CLOCK_SNAPSHOT_CLOCKS);
	*out = (struct snapshot_clock){ 0 };
	clock = wire_of(&field);
	while (wire_next(&clock, &field))
		if (field.tag == TAG_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID)
			out->id = field.value;
		else if (field.tag == TAG_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP)
			out->ns = field.value;
	return true;
}

/* Sets *@ns to the time of a clock of the sequence in @snapshot, the last one.
 * Returns false if there is none. */
static inline bool snapshot_time(struct wire snapshot, uint64_t *ns)
{
	struct snapshot_clock clock;
	bool found = false;

	while (snapshot_clock_next(&snapshot, &clock))
		if (is_clock_of_sequence(clock.id)) {
			*ns = clock.ns;
			found = true;
		}
	return found;
}

struct sequence_defaults {
	uint64_t clock, track;
	bool has_clock, has_track;
};

/* @fields: of TracePacketDefaults. */
static inline struct sequence_defaults sequence_defaults_of(struct wire fields)
{
	struct sequence_defaults defaults = { 0 };
	struct wire_field field;

	while (wire_next(&fields, &field)) {
		struct wire event = wire_of(&field);

		if (field.tag == TAG_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID) {
			defaults.clock = field.value;
			defaults.has_clock = true;
		}
		if (field.tag != TAG_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS)
			continue;
		while (wire_next(&event, &field))
			if (field.tag == TAG_TRACK_EVENT_DEFAULTS_TRACK_UUID) {
				defaults.track = field.value;
				defaults.has_track = true;
			}
	}
	return defaults;
}

#endif
