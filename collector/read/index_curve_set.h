/* SPDX-License-Identifier: Apache-2.0
 *
 * index_curve_set - the curves that an index has, by counter: which blocks of
 * which level tell of what. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_INDEX_CURVE_SET_H
#define PERFREC_COLLECTOR_READ_INDEX_CURVE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/index/index_curves.h"
#include "collector/read/trace_index.h"

struct index_curve_block {
	uint32_t sequence; /* 0: apart */
	uint64_t counter; /* its number */
	uint32_t order; /* in the index */
	uint32_t first, last; /* blocks of level 0 that it tells of, counted for
			       * its counter from 0 on */
	struct index_curve_head head;
	struct index_get buckets;
};

struct index_curve_counter {
	uint64_t uuid; /* of its track */
	bool real;
	uint32_t sequence; /* 0: apart */
	uint64_t number;
	/* By first, and of the same first the highest level first. */
	const struct index_curve_block *blocks;
	uint32_t count;
};

/* All zero: none. */
struct index_curve_set {
	struct index_curve_counter *counters;
	uint32_t count, room;
	struct index_curve_block *blocks;
	uint32_t block_count, block_room;
};

/* Whether the curves of @index have all values of its trace. */
bool index_curves_are_whole(const struct trace_index *index);
/* Sets *@out, all zero, to the curves of @index, which must outlive it. 0; or
 * -ENOMEM, or -EBADMSG: the items make no sense. The caller releases *@out in
 * any case. */
int index_curve_set_make(const struct trace_index *index,
			 struct index_curve_set *out);
void index_curve_set_release(struct index_curve_set *set);

static inline uint64_t index_curve_begin(const struct index_curve_block *block)
{
	return block->head.first << block->head.shift;
}

/* Just behind its last bucket. */
static inline uint64_t index_curve_end(const struct index_curve_block *block)
{
	return (block->head.last + 1) << block->head.shift;
}

#endif
