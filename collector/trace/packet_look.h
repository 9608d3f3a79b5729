/* SPDX-License-Identifier: Apache-2.0
 *
 * packet_look - what a packet is, for those who keep packets that were made
 * here: the index, and the flight recorder. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_TRACE_PACKET_LOOK_H
#define PERFREC_COLLECTOR_TRACE_PACKET_LOOK_H

#include "collector/trace/packet_fields.h"

struct packet_look {
	uint32_t sequence;
	bool stamped; /* with an absolute time */
	uint64_t first_ns, last_ns;
	/* At NULL: none. */
	struct index_get event, ftrace, interned, descriptor;
	bool sample;
	bool more; /* something else */
};

/* @fields: of a packet, without its tag and length. */
void packet_look(struct index_get fields, struct packet_look *packet);

/* Whether it is about a moment: an event, a sample, or switches of threads. */
static inline bool packet_is_event(const struct packet_look *packet)
{
	return packet->event.at || packet->sample || packet->ftrace.at;
}

struct packet_event {
	uint32_t type; /* TrackEvent.Type */
	uint64_t track; /* that it names; 0: none */
	bool is_double;
	uint64_t value; /* of a counter: the bits of an int64_t or a double */
};

/* @fields: of a TrackEvent. */
void packet_look_at_event(struct index_get fields, struct packet_event *out);

#endif
