/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_sums - what a summary and wall.pb.gz say of spans, made from the trace
 * alone: the tree of all stacks of each thread with calls and self times, and
 * sums by function. It is for a recording whose collector was killed before it
 * wrote these files, and for a range of any recording: then calls are those of
 * which a part lies in the range, and times are of these parts. Memory is
 * bounded, however large or hostile the trace is. One thread at a time.
 *
 * calls.h, too, sums a trace up. That is for the page: it spreads the times
 * over buckets, and folds what is small.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_SUMS_H
#define PERFREC_COLLECTOR_READ_TRACE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/base/histogram.h"
#include "collector/base/pool.h"
#include "collector/read/trace_read.h"
#include "collector/read/window.h"

/* A stack of a thread: its innermost function, and the stack that called it. */
struct sums_node {
	uint32_t parent; /* number of a node; 0: it is outermost */
	uint32_t name; /* text of the trace; of node 0 and of roots 0 */
	uint32_t thread; /* number of the thread */
	uint32_t last; /* number of the node that was called last; 0: none */
	uint64_t calls, self_ns, total_ns;
	uint64_t longest_ns; /* of the calls that ended in the range, from their
			      * true begin; 0: none did */
	bool inner; /* a caller has the same name: its time is the caller's */
};

/* A thread that has spans. */
struct sums_thread {
	const struct trace_track *track;
	uint64_t spans;
};

/* A function, or slices of an annotation with one name. */
struct sums_function {
	uint32_t name; /* text of the trace */
	uint64_t calls, self_ns, total_ns, longest_ns;
	/* How long its calls took; NULL: that is not known of all of them. */
	const struct histogram *durations;
};

struct trace_sums {
	struct trace_reader *reader; /* has texts and tracks; of the window */
	struct window *window;
	struct trace_read_totals totals;
	struct budget budget;
	struct pool nodes; /* of struct sums_node; 0 is none */
	struct sums_thread *threads; /* 0 is none */
	uint32_t thread_count, thread_room;
	uint32_t *current; /* by number of a track: the node that runs */
	uint32_t *thread_of; /* by number of a track; 0: none yet */
	uint32_t current_room, thread_of_room;
	struct histogram **durations; /* by number of a text; NULL: none yet */
	uint32_t durations_room;
	struct budget durations_budget; /* a part of budget */
	struct sums_function *functions; /* those with calls */
	uint32_t function_count, processes;
	uint64_t spans, samples;
	uint64_t open_before, open_after; /* spans that were open at FROM and at
					   * TO */
	uint64_t waits, wait_ns; /* of threads, for room in their rings */
	uint32_t wait_name; /* text: the name of such slices; 0: not met */
	uint32_t wait_looked; /* texts below this were looked at */
	uint64_t lost, paused; /* calls that the trace says are missing */
	uint64_t folded; /* calls that found no room in the tree: in no sum but
			  * .spans; their time is their callers' */
	int err; /* how reading ended; 0: at the end of the file */
};

/*
 * Reads what @choice gives of the trace at @path; NULL: all of it. @progress
 * may be NULL, too. Returns 0; the caller then owns *@out and ends it by
 * trace_sums_free(). What is cut or damaged is read as far as it goes: out->err
 * and out->totals say so. Or returns -errno of opening the file, -EIO for sums
 * of the index that cannot be read any more, or -ENOMEM; then *@out is as it
 * was. Logs nothing.
 */
int trace_sums_read(const char *path, const struct window_choice *choice,
		    const struct read_progress *progress,
		    struct trace_sums **out);
/* Frees *@sums, which may be NULL, and clears it. */
void trace_sums_free(struct trace_sums **sums);

/* Node @number, below sums->nodes.count. It may move with the next read. */
static inline const struct sums_node *trace_sums_node(
	const struct trace_sums *sums, uint32_t number)
{
	return &((const struct sums_node *)sums->nodes.items)[number];
}

#endif
