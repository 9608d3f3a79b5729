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

static void add_calls(struct time_cells *table, uint32_t node, uint64_t ns,
		      uint64_t calls)
{
	uint32_t hint = 0;
	struct time_cell *cell = time_cells_get(table, 0, node, ns, &hint);

	if (cell)
		cell->calls += calls;
}

/* The part of @calls that belongs to the first @part of @whole. */
static uint64_t share_of(uint64_t calls, uint64_t part, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)calls * part / whole);
}

static void spread(const struct time_gap *gap, enum time_gap_kind kind,
		   struct time_cells *table, uint64_t to)
{
	uint64_t calls = gap->calls[kind], given = 0, from = gap->from_ns;
	uint32_t node = 1 + (uint32_t)kind;

	if (to <= from) {
		add_calls(table, node, from, calls);
		return;
	}
	/* So that the width does not change on the way. */
	add_calls(table, node, from, 0);
	add_calls(table, node, to, 0);
	for (uint64_t at = from; at < to;) {
		uint64_t end = ((at >> table->shift) + 1) << table->shift;
		uint64_t until = end > at ? MIN(end, to) : to;
		uint64_t sum = share_of(calls, until - from, to - from);

		add_calls(table, node, at, sum - given);
		given = sum;
		at = until;
	}
}

void time_gap_end(struct time_gap *gap, struct time_cells *table, uint64_t ns)
{
	for (int kind = 0; kind < TIME_GAP_KINDS; kind++)
		if (gap->calls[kind])
			spread(gap, (enum time_gap_kind)kind, table, ns);
	*gap = (struct time_gap){ 0 };
}
