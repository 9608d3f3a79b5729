/* SPDX-License-Identifier: Apache-2.0
 *
 * index_values - the last values of counters and the last states that a block
 * of packets has, and the times of its events with an absolute time: for the
 * index (INDEX_VALUE, INDEX_TIMES). Memory is bounded by a budget. One thread
 * at a time.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_INDEX_VALUES_H
#define PERFREC_COLLECTOR_REPLAY_INDEX_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/bytes.h"

struct budget;
struct encode_event;

/* All zero: none. */
struct index_values {
	struct index_value {
		uint64_t uuid; /* of the track; 0: that of the sequence */
		bool absolute;
		uint64_t ns;
		uint8_t *fields; /* of its TrackEvent */
		uint32_t bytes, room; /* bytes 0: none in this block */
	} * list;
	uint32_t count, room;
	uint64_t first_ns, last_ns; /* 0, 0: no event has an absolute time */
	struct bytes payload;
};

void index_values_release(struct index_values *values, struct budget *budget);
/* @event was written, at @ns. Puts items into @items if there is no room to
 * keep the value. */
void index_values_take(struct index_values *values, struct budget *budget,
		       uint64_t ns, const struct encode_event *event,
		       struct bytes *items);
/* A block ends: puts the items that are about it into @items. */
void index_values_put(struct index_values *values, struct bytes *items);

#endif
