/* SPDX-License-Identifier: Apache-2.0
 *
 * time_gaps - when calls were not recorded: a thread says how many it lost, or
 * left out in a pause, after its last event before them. They are spread evenly
 * over the time up to its next event. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TIME_GAPS_H
#define PERFREC_COLLECTOR_READ_TIME_GAPS_H

#include <stdint.h>

#include "collector/read/time_cells.h"

/* The arguments that say it (replay/replay.c). */
#define TIME_GAP_LOST_NAME "perfrec.lost_spans"
#define TIME_GAP_PAUSED_NAME "perfrec.paused_spans"

enum time_gap_kind {
	TIME_GAP_LOST,
	TIME_GAP_PAUSED,
	TIME_GAP_KINDS,
};

/* Of a thread, since its last event. All zero: there is none. */
struct time_gap {
	uint64_t from_ns;
	uint64_t calls[TIME_GAP_KINDS];
};

/* @thread was without @calls more of its calls, from @ns on. */
void time_gap_add(struct time_gap *gap, enum time_gap_kind kind, uint64_t calls,
		  uint64_t ns);
/* The calls of @gap become calls of node 1 + kind of @table, thread 0, of the
 * time up to @ns; @gap is none then. */
void time_gap_end(struct time_gap *gap, struct time_cells *table, uint64_t ns);

#endif
