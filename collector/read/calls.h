/* SPDX-License-Identifier: Apache-2.0
 *
 * calls - a trace summed up in one pass: the tree of all stacks of calls and of
 * samples, by name; how much of it was in which bucket of time and which thread
 * (time_cells.h); the longest calls over time (timeline.h); when calls were not
 * recorded (time_gaps.h); and the curves of the counters. Memory is bounded,
 * however large or hostile the trace is. One thread at a time.
 *
 * By the index only a little of a large trace is read: sums of chunks say how
 * much, and levels of detail which calls were longest. Then the time of a chunk
 * is spread evenly over it, and what the index does not tell is missing:
 * samples, counters, and the names that the program gave to single slices.
 *
 * A trace knows functions by their names only, and has only calls that were
 * recorded: their times are as they were measured. The profiles of a recording
 * are better at both. This is for when and where.
 */
#ifndef PERFREC_COLLECTOR_READ_CALLS_H
#define PERFREC_COLLECTOR_READ_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/base/pool.h"
#include "collector/read/time_cells.h"
#include "collector/read/time_gaps.h"
#include "collector/read/time_range.h"
#include "collector/read/timeline.h"
#include "collector/read/trace_read.h"
#include "collector/read/window.h"

/* A stack: its innermost function, and the stack that called it. */
struct call_node {
	uint32_t parent; /* number of a node; 0: it is outermost */
	uint32_t name; /* text of the trace */
	uint32_t last; /* number of the node that was called last; 0: none */
	uint32_t hint; /* for time_cells_get() */
};

/* A thread, or a stack of its own that a thread made. */
struct calls_thread {
	const struct trace_track *track; /* NULL: of thread 0 */
	uint64_t at_ns; /* the time before is in the cells */
	uint32_t node; /* that runs; 0: none */
	bool has_gap;
	struct time_gap gap;
};

/* The counters of the bytes in use (heap/thread_heap.c) and of the functions
 * that are counted or off (states/states_trace.c). How many points of a counter
 * are kept, and how many counters. */
#define CALLS_IN_USE_NAME "heap: bytes in use"
#define CALLS_MUTED_NAME "perfrec: functions not recorded"
#define CALLS_CURVE_POINTS 2048
#define CALLS_CURVES 64

/* A counter over time: the largest value of each stretch, and the last one. */
struct calls_curve {
	const struct trace_track *track;
	struct calls_point {
		uint64_t ns, value; /* the largest of the stretch, and when */
		uint64_t after; /* the last of the stretch */
	} points[CALLS_CURVE_POINTS + 1];
	uint32_t count;
	unsigned int shift; /* a stretch is 2^shift ns */
	struct calls_point last, peak;
};

struct calls_choice {
	struct time_range range;
	const char *thread; /* as that of struct window_choice */
	/* By the index, if there is one, which is this; it outlives the calls.
	 * NULL: all of the trace is read. */
	const struct trace_index *index;
	/* If the range has no more calls than these, about, all of them are
	 * read; they are not left to the sums of chunks. */
	uint64_t few_calls;
	/* If calls are left to sums: a stack that has little, with all that it
	 * calls, is not told apart from what it calls: calls_cells_of(). */
	bool folds;
};

struct calls {
	struct window *window;
	struct trace_reader *reader; /* has texts and tracks; of the window */
	struct time_range range; /* that was chosen */
	bool by_index; /* without samples */
	bool no_counters; /* by the index, which does not have them */
	bool summed; /* chunks were left to their sums */
	struct trace_read_totals totals;
	struct budget budget;
	struct pool nodes; /* of struct call_node; 0 is no function */
	struct time_cells cells;
	struct timeline timeline;
	struct calls_thread *threads; /* 0 is "not known" */
	uint32_t thread_count, thread_room;
	uint32_t *thread_of; /* by number of a track; 0: none yet */
	uint32_t thread_of_room;
	uint32_t *stack_nodes; /* by number of a stack; 0: not yet */
	uint32_t stack_room;
	struct time_cells gaps; /* of thread 0, see time_gap_end() */
	struct calls_curve *curves[CALLS_CURVES];
	uint32_t curve_count;
	uint64_t curves_refused; /* values of counters beyond these, below 0 or
				  * with a fraction */
	/* The bytes in use of the process with the highest peak, and how many
	 * processes have such a curve. */
	struct calls_curve *curve;
	uint32_t in_use_count;
	/* By number of a node: 0, or the node that has its cells; of nodes
	 * below folded_count. */
	uint32_t *folded_to;
	uint32_t folded_count;
	uint64_t folded; /* stacks that found no room: part of their callers */
	uint64_t beyond; /* calls that are too deep for the index */
	int err; /* how reading ended; 0: at the end of the file */
};

/*
 * Reads what @choice gives of the trace at @path; NULL: all. Calls that began
 * before the range begin with it then, and those that went on end with it.
 * @progress may be NULL. Returns 0; the caller then owns *@out and ends it by
 * calls_free(). What is cut or damaged is read as far as it goes: out->err and
 * out->totals say so. Or returns -errno of opening the file, -EIO for what the
 * index has and cannot be read any more, or -ENOMEM; then *@out is as it was.
 * Logs nothing.
 */
int calls_read(const char *path, const struct calls_choice *choice,
	       const struct read_progress *progress, struct calls **out);
/* Frees *@calls, which may be NULL, and clears it. */
void calls_free(struct calls **calls);

/* Finds the node of @name called by @parent. False: there is none. */
bool calls_find(const struct calls *calls, uint32_t parent, uint32_t name,
		uint32_t *out);
/* The node that has the cells of node @number: itself, or one that calls it. */
uint32_t calls_cells_of(const struct calls *calls, uint32_t number);
/* Whether node @number is no call: a wait of the one that calls it for room in
 * the ring. */
bool calls_is_wait(const struct calls *calls, uint32_t number);
/* The name of the counter of @curve. */
const char *calls_curve_name(const struct calls *calls,
			     const struct calls_curve *curve);
static inline const struct call_node *calls_node(const struct calls *calls,
						 uint32_t number)
{
	return &((const struct call_node *)calls->nodes.items)[number];
}

#endif
