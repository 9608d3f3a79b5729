/* SPDX-License-Identifier: Apache-2.0
 *
 * time_gaps - times without recorded calls. A thread reports the number of
 * calls that it lost, or skipped in a pause, right after its last event before
 * them. The calls are spread evenly over the time up to its next event. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TIME_GAPS_H
#define PERFREC_COLLECTOR_READ_TIME_GAPS_H

#include <stdint.h>

#include "collector/read/time_cells.h"

/* Arguments with these numbers (replay/replay.c). */
#define TIME_GAP_LOST_NAME "perfrec.lost_spans"
#define TIME_GAP_PAUSED_NAME "perfrec.paused_spans"

enum time_gap_kind {
	TIME_GAP_LOST,
	TIME_GAP_PAUSED,
	TIME_GAP_KINDS,
};

/* The gap since the last event of a thread. All zero: none. */
struct time_gap {
	uint64_t from_ns;
	uint64_t calls[TIME_GAP_KINDS];
};

/* Adds @calls missing calls to @gap, which starts at @ns. */
void time_gap_add(struct time_gap *gap, enum time_gap_kind kind, uint64_t calls,
		  uint64_t ns);
/* Adds the calls of @gap, up to @ns, to node 1 + kind and thread 0 of @table,
 * and clears @gap. */
void time_gap_end(struct time_gap *gap, struct time_cells *table, uint64_t ns);

#endif
