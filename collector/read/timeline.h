/* SPDX-License-Identifier: Apache-2.0
 *
 * timeline - calls of threads over time, in levels of detail. Each level has
 * buckets of time, and the longest call of each thread, depth and bucket, by
 * start of the call. A level with too many calls widens its buckets. Memory is
 * bounded. One thread at a time.
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
	uint32_t count; /* number of calls that it stands for */
};

/* The last call of one thread and depth, not in its level yet. */
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
	/* By thread, then by depth. */
	struct timeline_thread {
		struct timeline_row *rows;
		uint32_t count;
	} * threads;
	uint32_t thread_room;
	uint32_t row_count;
	uint64_t refused; /* calls without room for their row */
};

/* Makes @timeline empty, for TIMELINE_CALLS_MAX / @part calls. Returns 0 or
 * -ENOMEM; the caller frees it with timeline_release(). */
int timeline_init(struct timeline *timeline, uint32_t part);
/* @timeline may be all zero. */
void timeline_release(struct timeline *timeline);

/* Adds a finished call. Calls of one thread and depth come in the order of
 * their starts. */
void timeline_take(struct timeline *timeline, const struct timeline_call *call);

/* Finishes the timeline: each level is sorted by thread, depth and start. */
void timeline_finish(struct timeline *timeline);

#endif
