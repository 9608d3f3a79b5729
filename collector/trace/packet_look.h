/* SPDX-License-Identifier: Apache-2.0
 *
 * packet_look - classifies packets made here, for the index and the flight
 * recorder. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_TRACE_PACKET_LOOK_H
#define PERFREC_COLLECTOR_TRACE_PACKET_LOOK_H

#include "collector/base/protobuf.h"
#include "collector/trace/fields.h"

struct packet_look {
	uint32_t sequence;
	bool stamped; /* has an absolute time */
	uint64_t first_ns, last_ns;
	/* NULL: none. */
	struct wire event, ftrace, interned, descriptor;
	bool sample;
	bool more; /* it has other fields */
};

/* @fields: of a packet, without its tag and length. */
void packet_look(struct wire fields, struct packet_look *packet);

/* Returns true if the packet has a time: an event, a sample, or switches. */
static inline bool packet_is_event(const struct packet_look *packet)
{
	return packet->event.at || packet->sample || packet->ftrace.at;
}

struct packet_event {
	uint32_t type; /* TrackEvent.Type */
	uint64_t track; /* that the event names; 0: none */
	bool is_double;
	uint64_t value; /* of a counter: the bits of an int64_t or a double */
};

/* @fields: of a TrackEvent. */
void packet_look_at_event(struct wire fields, struct packet_event *out);

#endif
