/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_left - what the packets of one sequence leave behind when the flight
 * recorder forgets them: the last value of each counter, and the begins of
 * slices that are open. One thread at a time, or under the lock of the
 * recorder's memory.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FLIGHT_LEFT_H
#define PERFREC_COLLECTOR_TRACE_FLIGHT_LEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A packet with an event, with its tag and length. */
struct left_packet {
	uint64_t ns, delta_ns; /* as of compact.h */
	uint8_t *bytes;
	uint32_t count;
};

struct left_track {
	uint64_t uuid; /* 0: that of the sequence */
	struct left_packet value; /* or state; no bytes: none */
	struct left_packet *begins; /* of open slices, outermost first */
	uint32_t begin_count, begin_room;
};

/* All zero: nothing is left behind. */
struct flight_left {
	struct left_track *tracks;
	uint32_t count, room;
	uint32_t *slots; /* hash table: the number of a track + 1; 0: free */
	uint32_t mask;
	uint64_t memory; /* bytes of packets, about */
	bool lost; /* there was no memory for all */
};

/* Frees what @left has: it is all zero again. */
void flight_left_release(struct flight_left *left);
/* Makes *@out, which is all zero, a copy of @left. */
void flight_left_copy(const struct flight_left *left, struct flight_left *out);

struct left_event {
	uint64_t track; /* 0: that of the sequence */
	uint32_t type; /* TrackEvent.Type */
	uint64_t ns, delta_ns;
	const uint8_t *packet; /* with its tag and length */
	size_t bytes;
};

/* @event is forgotten. */
void flight_left_take(struct flight_left *left, const struct left_event *event);
/* Of begins on the sequence's own track only those at @count times are still
 * open, which are at @begins, outermost first. */
void flight_left_only(struct flight_left *left, const uint64_t *begins,
		      uint32_t count);
/* The begin at @ns on the sequence's own track; NULL: there is none. */
const struct left_packet *flight_left_begin(const struct flight_left *left,
					    uint64_t ns);

#endif
