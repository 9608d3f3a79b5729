/* SPDX-License-Identifier: Apache-2.0
 *
 * index_curve_set - the curves of an index, grouped by counter, with the range
 * that each block covers. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_INDEX_CURVE_SET_H
#define PERFREC_COLLECTOR_READ_INDEX_CURVE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/trace_index.h"
#include "collector/trace/index_curves.h"

struct index_curve_block {
	uint32_t sequence; /* 0: not a thread's (see INDEX_COUNTER) */
	uint64_t counter;
	uint32_t order; /* place in the index */
	uint32_t first, last; /* blocks of level 0 that it covers, counted per
			       * counter from 0 */
	struct index_curve_head head;
	struct index_get buckets;
};

struct index_curve_counter {
	uint64_t uuid; /* of its track */
	bool real;
	uint32_t sequence; /* 0: not a thread's (see INDEX_COUNTER) */
	uint64_t number;
	/* By first; the highest level comes first on a tie. */
	const struct index_curve_block *blocks;
	uint32_t count;
};

/* All zero is empty. */
struct index_curve_set {
	struct index_curve_counter *counters;
	uint32_t count, room;
	struct index_curve_block *blocks;
	uint32_t block_count, block_room;
};

/* Returns true if the curves of @index have all values of its trace. */
bool index_curves_are_whole(const struct trace_index *index);
/* Sets *@out, all zero before, to the curves of @index, which must outlive it.
 * Returns 0; -ENOMEM; or -EBADMSG if the items are damaged. The caller releases
 * *@out even after an error. */
int index_curve_set_make(const struct trace_index *index,
			 struct index_curve_set *out);
void index_curve_set_release(struct index_curve_set *set);

static inline uint64_t index_curve_begin(const struct index_curve_block *block)
{
	return block->head.first << block->head.shift;
}

/* Exclusive end of the last bucket. */
static inline uint64_t index_curve_end(const struct index_curve_block *block)
{
	return (block->head.last + 1) << block->head.shift;
}

#endif
