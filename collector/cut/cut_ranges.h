/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_ranges - the ranges of time that a cut has, in order: none touches
 * another. A range is half open: it has the events from its first ns on, and
 * not those at its end. Pure, any thread.
 */
#ifndef PERFREC_COLLECTOR_CUT_CUT_RANGES_H
#define PERFREC_COLLECTOR_CUT_CUT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/compiler.h"

struct cut_range {
	uint64_t from, to; /* CLOCK_BOOTTIME, ns; from < to */
};

/* All zero: none. */
struct cut_ranges {
	struct cut_range *at;
	uint32_t count, room;
};

/* Adds a range in any order; cut_ranges_order() must follow. One that is empty
 * is left out. 0 or -ENOMEM. */
int cut_ranges_add(struct cut_ranges *ranges, uint64_t from, uint64_t to);
/* Brings the ranges into order, and makes one of those that overlap or touch.
 */
void cut_ranges_order(struct cut_ranges *ranges);
/* Frees them; @ranges is all zero then. */
void cut_ranges_release(struct cut_ranges *ranges);

/* The number of the first range that ends after @ns; ranges->count: none does.
 */
static inline uint32_t cut_ranges_after(const struct cut_ranges *ranges,
					uint64_t ns)
{
	uint32_t low = 0, high = ranges->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ranges->at[middle].to <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static inline bool cut_ranges_has(const struct cut_ranges *ranges, uint64_t ns)
{
	uint32_t at = cut_ranges_after(ranges, ns);

	return at < ranges->count && ranges->at[at].from <= ns;
}

#endif
