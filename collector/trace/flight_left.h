/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_left - the lasting state of one sequence's dropped packets in the
 * flight recorder: the last value of each counter, and the begins of open
 * slices. One thread at a time, or under the lock of the recorder's memory.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FLIGHT_LEFT_H
#define PERFREC_COLLECTOR_TRACE_FLIGHT_LEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A packet with an event, tag and length included. */
struct left_packet {
	uint64_t ns, delta_ns; /* as in compact.h */
	uint8_t *bytes;
	uint32_t count;
};

struct left_track {
	uint64_t uuid; /* 0: the sequence's own */
	struct left_packet value; /* of a counter or state; no bytes: none */
	struct left_packet *begins; /* of open slices, outermost first */
	uint32_t begin_count, begin_room;
};

/* All zero: empty. */
struct flight_left {
	struct left_track *tracks;
	uint32_t count, room;
	uint32_t *slots; /* hash table: number of the track + 1; 0: free */
	uint32_t mask;
	uint64_t memory; /* estimated bytes of packets */
	bool lost; /* some state was lost without memory */
};

void flight_left_release(struct flight_left *left);
void flight_left_copy(const struct flight_left *left, struct flight_left *out);

struct left_event {
	uint64_t track; /* 0: the sequence's own */
	uint32_t type;
	uint64_t ns, delta_ns;
	const uint8_t *packet; /* tag and length included */
	size_t bytes;
};

/* Takes the state of @event, which will be dropped. */
void flight_left_take(struct flight_left *left, const struct left_event *event);
/* Keeps only the begins on the sequence's own track at the @count times of
 * @begins, outermost first. All others have ended. */
void flight_left_only(struct flight_left *left, const uint64_t *begins,
		      uint32_t count);
/* Returns the packet that begins a slice at @ns on the sequence's own track, or
 * NULL. */
const struct left_packet *flight_left_begin(const struct flight_left *left,
					    uint64_t ns);

#endif
