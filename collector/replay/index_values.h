/* SPDX-License-Identifier: Apache-2.0
 *
 * index_values - the last values of counters and the last states that packets
 * of a sequence have, and the times of their events with an absolute time: for
 * the index (INDEX_VALUE, INDEX_TIMES).
 *
 * Values whose time is a step are told once for all blocks between two
 * checkpoints: a reader reads all of these blocks or none. Those with an
 * absolute time are told block by block, as they may be of any time.
 *
 * Memory is bounded by a budget. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_INDEX_VALUES_H
#define PERFREC_COLLECTOR_REPLAY_INDEX_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/bytes.h"
#include "collector/base/pool.h"

struct budget;
struct encode_event;

/* Values that were not told yet. */
struct index_untold {
	uint32_t *numbers; /* in the pool */
	uint32_t count, room;
};

/* All zero but for the pool: none. */
struct index_values {
	struct pool pool; /* of struct index_value */
	struct index_untold steps, absolute;
	uint64_t steps_bytes; /* that their items will have, about */
	uint64_t taken_bytes; /* of packets with values since the last
			       * index_values_put_steps(), about */
	uint64_t first_ns, last_ns; /* 0, 0: no event has an absolute time */
	struct bytes payload;
};

/* Makes *@values empty; @budget pays, and must outlive it. */
void index_values_init(struct index_values *values, struct budget *budget);
void index_values_release(struct index_values *values);

/* @event, which names @track (0: none), was written, at @ns. Puts items into
 * @items if there is no room to keep the value. */
void index_values_take(struct index_values *values, uint64_t ns,
		       const struct encode_event *event, uint64_t track,
		       struct bytes *items);
/* A block ends: puts the items that are about it into @items. */
void index_values_put_block(struct index_values *values, struct bytes *items);
/* A block ends, behind which a reader may begin: the same for values whose
 * times are steps. */
void index_values_put_steps(struct index_values *values, struct bytes *items);

#endif
