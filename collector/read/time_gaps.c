/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/time_gaps.h"

#include "shared/compiler.h"

void time_gap_add(struct time_gap *gap, enum time_gap_kind kind, uint64_t calls,
		  uint64_t ns)
{
	if (!gap->calls[TIME_GAP_LOST] && !gap->calls[TIME_GAP_PAUSED])
		gap->from_ns = ns;
	if (__builtin_add_overflow(gap->calls[kind], calls, &gap->calls[kind]))
		gap->calls[kind] = UINT64_MAX;
}

void time_gap_end(struct time_gap *gap, struct time_cells *table, uint64_t ns)
{
	for (int kind = 0; kind < TIME_GAP_KINDS; kind++)
		if (gap->calls[kind])
			time_cells_spread(table, 0, 1 + (uint32_t)kind,
					  gap->from_ns, ns,
					  &(struct time_amount){
						  .calls = gap->calls[kind] });
	*gap = (struct time_gap){ 0 };
}
