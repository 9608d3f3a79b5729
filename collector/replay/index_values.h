/* SPDX-License-Identifier: Apache-2.0
 *
 * index_values - for the index (INDEX_VALUE, INDEX_TIMES): the last values of
 * counters and the last states in the packets of a sequence, and the times of
 * events with an absolute time.
 *
 * Values whose time is a step are written once for all blocks between two
 * checkpoints, because a reader reads all of these blocks or none. Values with
 * an absolute time are written block by block, because they may be of any time.
 *
 * A budget bounds the memory. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_INDEX_VALUES_H
#define PERFREC_COLLECTOR_REPLAY_INDEX_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/bytes.h"
#include "collector/base/pool.h"

struct budget;
struct encode_event;

struct index_untold {
	uint32_t *numbers;
	uint32_t count, room;
};

/* Empty if all is zero except the pool. */
struct index_values {
	struct pool pool;
	struct index_untold steps, absolute;
	uint64_t steps_bytes; /* of their items, about */
	uint64_t taken_bytes; /* of packets with values since the last
			       * index_values_put_steps(), about */
	uint64_t first_ns, last_ns; /* 0, 0: no event has an absolute time */
	struct bytes payload;
};

/* @budget pays and must outlive *@values. */
void index_values_init(struct index_values *values, struct budget *budget);
void index_values_release(struct index_values *values);

/* @event, which names @track (0: none), was written at @ns. Appends items to
 * @items if there is no room to keep the value. */
void index_values_take(struct index_values *values, uint64_t ns,
		       const struct encode_event *event, uint64_t track,
		       struct bytes *items);
void index_values_put_block(struct index_values *values, struct bytes *items);
/* Ends a block in front of a checkpoint: appends the values whose times are
 * steps. */
void index_values_put_steps(struct index_values *values, struct bytes *items);

#endif
