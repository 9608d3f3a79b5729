/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/cut/cut_ranges.h"

#include <stdlib.h>

#include "collector/base/grow.h"

int cut_ranges_add(struct cut_ranges *ranges, uint64_t from, uint64_t to)
{
	if (from >= to)
		return 0;
	if (grow_array(ranges->at, ranges->room, ranges->count + 1))
		return -ENOMEM;
	ranges->at[ranges->count++] = (struct cut_range){ from, to };
	return 0;
}

static int compare_cut_ranges(const void *left, const void *right)
{
	const struct cut_range *a = left, *b = right;

	return a->from < b->from ? -1 : a->from > b->from;
}

void cut_ranges_order(struct cut_ranges *ranges)
{
	struct cut_range *at = ranges->at;
	uint32_t kept = 0;

	if (!ranges->count)
		return;
	qsort(at, ranges->count, sizeof(*at), compare_cut_ranges);
	for (uint32_t i = 1; i < ranges->count; i++)
		if (at[i].from <= at[kept].to)
			at[kept].to = MAX(at[kept].to, at[i].to);
		else
			at[++kept] = at[i];
	ranges->count = kept + 1;
}

void cut_ranges_release(struct cut_ranges *ranges)
{
	free(ranges->at);
	*ranges = (struct cut_ranges){ 0 };
}
