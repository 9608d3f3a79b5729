/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_history - the bytes in use of a heap over time, by the place in the code
 * that allocated them. A place is the innermost function of a stack and, where
 * stacks are those of samples, its caller. The history of any program fits into
 * about 100 KiB: it has at most HISTORY_POINTS moments, further apart the longer
 * the program runs, and the HISTORY_TOP largest places of each.
 *
 * One thread at a time, as for the heap. Pure: no I/O.
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_HISTORY_H
#define PERFREC_COLLECTOR_HEAP_HEAP_HISTORY_H

#include <stdint.h>

#include "collector/base/pool.h"
#include "collector/profile/stacks.h"

struct heap;

#define HISTORY_POINTS 256u
#define HISTORY_TOP 32u

/* The frames of a place: the innermost first. Without a caller the second has
 * the address 0. */
struct history_place {
	struct stack_frame frame[2];
};

struct history_point {
	uint64_t ns; /* BOOTTIME */
	uint64_t total; /* all bytes in use, in the units of the heap */
	uint32_t count;
	uint32_t place[HISTORY_TOP]; /* number in places; unsorted */
	uint64_t bytes[HISTORY_TOP];
};

struct heap_history {
	struct budget *budget;
	struct pool places; /* of struct history_place */
	uint32_t *place_of; /* by site */
	uint32_t sites, site_room;
	uint64_t *bytes; /* by place; between calls without meaning */
	uint32_t byte_room;
	struct history_point *points;
	uint32_t count, room;
	uint64_t step_ns; /* the distance of two points, at least */
	uint64_t next_ns; /* time of the next point, at the earliest */
};

/* Makes an empty history with memory of @budget, which must outlive it; the
 * caller ends it with heap_history_release(). */
void heap_history_init(struct heap_history *history, struct budget *budget);
/* Accepts a history that is all zero. */
void heap_history_release(struct heap_history *history);

/* Adds a point at @ns (BOOTTIME) with the bytes in use of @heap, whose sites
 * have stacks of @stacks. A point of the same time is replaced. A place without
 * memory is in no list, only in the total. */
void heap_history_take(struct heap_history *history, struct heap *heap,
		       struct stacks *stacks, uint64_t ns);
/* Delays the next point: this one took @cost_ns of CPU time. */
void heap_history_delay(struct heap_history *history, uint64_t cost_ns);

#endif
