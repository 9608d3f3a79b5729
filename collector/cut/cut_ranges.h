/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_ranges - the time ranges of a cut, in order; no two touch. A range is
 * half open: it has events from its first ns on, but no event at its end. Pure,
 * any thread.
 */
#ifndef PERFREC_COLLECTOR_CUT_CUT_RANGES_H
#define PERFREC_COLLECTOR_CUT_CUT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/search.h"
#include "shared/compiler.h"

struct cut_range {
	uint64_t from, to; /* CLOCK_BOOTTIME, ns; from < to */
};

struct cut_ranges {
	struct cut_range *at;
	uint32_t count, room;
};

/* Adds a range, in any order, or ignores an empty one. Call cut_ranges_order()
 * after the last. Returns 0 or -ENOMEM. */
int cut_ranges_add(struct cut_ranges *ranges, uint64_t from, uint64_t to);
/* Sorts the ranges, and joins ranges that overlap or touch. */
void cut_ranges_order(struct cut_ranges *ranges);
void cut_ranges_release(struct cut_ranges *ranges);

/* Returns the number of the first range that ends after @ns, or
 * ranges->count. */
static inline uint32_t cut_ranges_after(const struct cut_ranges *ranges,
					uint64_t ns)
{
	return search_first(i, ranges->count, ranges->at[i].to > ns);
}

static inline bool cut_ranges_has(const struct cut_ranges *ranges, uint64_t ns)
{
	uint32_t at = cut_ranges_after(ranges, ns);

	return at < ranges->count && ranges->at[at].from <= ns;
}

#endif
