/* SPDX-License-Identifier: Apache-2.0
 *
 * timeline - calls of threads over time, in levels of detail. In each level
 * time is cut into buckets. Of all calls of one thread and one depth that begin
 * in one bucket, the level has the longest. A level that gets too many calls
 * makes its buckets wider. Memory is bounded. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TIMELINE_H
#define PERFREC_COLLECTOR_READ_TIMELINE_H

#include <stdint.h>

#define TIMELINE_LEVELS 3
#define TIMELINE_CALLS_MAX 300000 /* of all levels */
#define TIMELINE_DEPTH_MAX 256 /* deeper calls are not shown */

struct timeline_call {
	uint32_t thread, depth;
	uint64_t begin_ns, duration_ns;
	uint32_t name; /* text of the trace */
	uint32_t count; /* calls that this one stands for */
};

/* The calls of one thread and depth, of which the last is not in its level. */
struct timeline_row {
	struct timeline_call last[TIMELINE_LEVELS]; /* count 0: none */
};

struct timeline_level {
	struct timeline_call *calls;
	uint32_t count, most;
	unsigned int shift; /* buckets are 2^shift ns wide */
};

struct timeline {
	struct timeline_level level[TIMELINE_LEVELS]; /* coarsest first */
	/* Of each thread, a row for each depth. */
	struct timeline_thread {
		struct timeline_row *rows;
		uint32_t count;
	} * threads;
	uint32_t thread_room;
	uint32_t row_count; /* of all threads */
	uint64_t refused; /* calls in rows for which there was no room */
};

/* Makes @timeline empty. The caller ends it by timeline_release(). 0 or
 * -ENOMEM. */
int timeline_init(struct timeline *timeline);
/* @timeline may be all zero. */
void timeline_release(struct timeline *timeline);

/* Takes a call that has ended. Calls of one thread and depth come in the order
 * in which they began. */
void timeline_take(struct timeline *timeline, const struct timeline_call *call);

/* There are no more calls: each level is now sorted by thread, depth and
 * begin. */
void timeline_finish(struct timeline *timeline);

#endif
