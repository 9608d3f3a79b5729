/* SPDX-License-Identifier: Apache-2.0
 *
 * calls - sums up a trace in one pass: the tree of all stacks of calls and
 * samples, by name; the amount of each stack by time bucket and thread
 * (time_cells.h); the longest calls over time (timeline.h) and of each function
 * (slowest.h); the gaps in recording (time_gaps.h); and the curves of the
 * counters. Memory is bounded for any trace, even a hostile one. One thread at
 * a time.
 *
 * With an index only a small part of a large trace is read: chunks have sums,
 * and levels of detail have the longest calls. The time of a chunk is then
 * spread evenly over it. Such a result lacks samples, the names that the
 * program gave to single slices, and counters without curves in the index.
 *
 * A trace knows functions by name only, and has recorded calls only, with times
 * as measured. Profiles are more exact in both; this module is for times and
 * threads.
 */
#ifndef PERFREC_COLLECTOR_READ_CALLS_H
#define PERFREC_COLLECTOR_READ_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/call_tree.h"
#include "collector/read/slowest.h"
#include "collector/read/time_cells.h"
#include "collector/read/time_gaps.h"
#include "collector/read/time_range.h"
#include "collector/read/timeline.h"

/* Counters of the bytes in use (heap/thread_heap.c) and of muted functions
 * (states/states_trace.c); the limits of points of a counter, and of
 * counters. */
#define CALLS_IN_USE_NAME "heap: bytes in use"
/* The bytes in use of one function, and of all functions without a counter of
 * their own (heap/heap_bands.c). */
#define CALLS_BAND_NAME "heap: in use by "
#define CALLS_OTHERS_NAME "heap: in use by [others]"
#define CALLS_MUTED_NAME "perfrec: functions not recorded"
#define CALLS_CURVE_POINTS 2048
#define CALLS_CURVES 64
#define CALLS_BANDS 16
#define CALLS_INSTANTS 5000

/* A counter over time: the largest and the last value of each stretch. */
struct calls_curve {
	const struct trace_track *track;
	struct calls_point {
		uint64_t ns, value; /* the largest of the stretch, with its
				     * time */
		uint64_t after; /* the last value of the stretch */
	} points[CALLS_CURVE_POINTS + 1];
	uint32_t count;
	unsigned int shift; /* a stretch is 2^shift ns */
	struct calls_point last, peak;
};

struct calls_choice {
	struct time_range range;
	const char *thread; /* see struct window_choice */
	/* The index of the trace; it outlives the calls. NULL: read the whole
	 * trace. */
	const struct trace_index *index;
	/* Up to about this many calls in the range, all are read, and sums of
	 * chunks are not used. */
	uint64_t few_calls;
	/* With sums: merge a small stack and all its callees into one
	 * (calls_cells_of()). */
	bool folds;
};

struct calls {
	struct call_tree tree; /* not by_thread */
	struct time_range range;
	bool by_index; /* without samples */
	bool no_counters; /* the index lacks counters */
	bool summed; /* used sums of chunks */
	struct time_cells cells;
	struct timeline timeline;
	struct timeline waits; /* by object, depth 0; none by_index */
	struct call_instant {
		uint64_t ns;
		uint32_t thread, name;
		struct call_arguments *arguments; /* NULL: none */
	} * instants; /* by_index: none in skipped chunks */
	uint32_t instant_count, instant_room;
	uint64_t instants_refused; /* beyond CALLS_INSTANTS */
	struct slowest slowest; /* summed: only calls of the timeline */
	uint32_t *stack_nodes; /* by number of a stack; 0: none */
	uint32_t stack_room;
	struct time_cells gaps; /* in thread 0: see time_gap_end() */
	struct calls_curve *curves[CALLS_CURVES];
	uint32_t curve_count;
	uint32_t curve_tracks; /* above the numbers of tracks with a curve so
				* far */
	uint64_t curves_refused; /* values of counters beyond CALLS_CURVES,
				  * negative, or with a fraction */
	/* Bytes in use of the process with the highest peak, and the number of
	 * such curves. */
	struct calls_curve *curve;
	uint32_t in_use_count;
	/* The parts of curve, the others last; none if one of them is missing. */
	struct calls_curve *bands[CALLS_BANDS];
	uint32_t band_count;
	/* By number of a node below folded_count: the node with its cells, or
	 * 0. */
	uint32_t *folded_to;
	uint32_t folded_count;
	uint64_t beyond; /* calls too deep for the index */
};

/*
 * Reads the part of the trace at @path that @choice selects; NULL: all. Calls
 * are clipped to the range. @progress may be NULL. Returns 0, and the caller
 * frees *@out with calls_free(). A truncated or damaged trace is read up to the
 * damage, as out->tree.err and out->tree.totals report. Returns -errno if the file cannot
 * be opened, -EIO if a part of the index is unreadable, or -ENOMEM; then *@out
 * is unchanged. Logs nothing.
 */
int calls_read(const char *path, const struct calls_choice *choice,
	       const struct read_progress *progress, struct calls **out);
/* Frees *@calls, which may be NULL, and clears it. */
void calls_free(struct calls **calls);

/* Finds the node of @name called by @parent. Returns false if there is none. */
bool calls_find(const struct calls *calls, uint32_t parent, uint32_t name,
		uint32_t *out);
/* Returns the node with the cells of node @number: itself or a caller. */
uint32_t calls_cells_of(const struct calls *calls, uint32_t number);
/* Returns true if node @number is not a call, but a wait of its caller for room
 * in the ring. */
bool calls_is_wait(const struct calls *calls, uint32_t number);
const char *calls_curve_name(const struct calls *calls,
			     const struct calls_curve *curve);
#endif
