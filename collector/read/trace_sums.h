/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_sums - the data of a summary and of wall.pb.gz about spans, from the
 * trace alone: the tree of all stacks of each thread with calls and self times,
 * and sums by function. It serves recordings whose collector was killed before
 * it wrote these files, and ranges of any recording. A range counts calls that
 * overlap it, with the times inside. Memory is bounded for any trace, even a
 * hostile one. One thread at a time.
 *
 * calls.h also sums up a trace, for the page only: it spreads times over
 * buckets, and folds small stacks.
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

/* A stack of a thread: its innermost function, and the stack of the caller. */
struct sums_node {
	uint32_t parent; /* node of the caller; 0: none */
	uint32_t name; /* text of the trace; 0 in node 0 and in roots */
	uint32_t thread;
	uint32_t last; /* node of the latest callee; 0: none */
	uint64_t calls, self_ns, total_ns;
	uint64_t longest_ns; /* of calls that ended in the range, from their
			      * true start; 0: none */
	bool inner; /* a caller has the same name, and the time */
};

struct sums_thread {
	const struct trace_track *track;
	uint64_t spans;
};

/* A function, or slices of an annotation with one name. */
struct sums_function {
	uint32_t name;
	uint64_t calls, self_ns, total_ns, longest_ns;
	/* Durations of the calls; NULL: some are missing. */
	const struct histogram *durations;
};

struct trace_sums {
	struct trace_reader *reader; /* owned by the window; has texts and
				      * tracks */
	struct window *window;
	struct trace_read_totals totals;
	struct budget budget;
	struct pool nodes; /* struct sums_node; 0 is none */
	struct sums_thread *threads; /* 0 is none */
	uint32_t thread_count, thread_room;
	uint32_t *current; /* current node by number of a track */
	uint32_t *thread_of; /* by number of a track; 0: none yet */
	uint32_t current_room, thread_of_room;
	struct histogram **durations; /* by number of a text; NULL: none yet */
	uint32_t durations_room;
	struct budget durations_budget; /* a part of budget */
	struct sums_function *functions; /* only functions with calls */
	uint32_t function_count, processes;
	uint64_t spans, samples;
	uint64_t open_before, open_after; /* spans open at FROM and at TO */
	uint64_t waits, wait_ns; /* of threads, for room in their rings */
	uint32_t wait_name; /* text: the name of such slices; 0: not found */
	uint32_t wait_looked; /* texts below this were compared */
	uint64_t lost, paused; /* missing calls, reported by the trace */
	uint64_t folded; /* calls without room in the tree: only .spans counts
			  * them; their callers have the time */
	int err; /* of reading; 0: reached the end of the file */
};

/*
 * Reads the part of the trace at @path that @choice selects; NULL: all.
 * @progress may be NULL. Returns 0, and the caller frees *@out with
 * trace_sums_free(). A truncated or damaged trace is read up to the damage, as
 * out->err and out->totals report. Returns -errno if the file cannot be opened,
 * -EIO if sums of the index are unreadable, or -ENOMEM; then *@out is
 * unchanged. Logs nothing.
 */
int trace_sums_read(const char *path, const struct window_choice *choice,
		    const struct read_progress *progress,
		    struct trace_sums **out);
/* Frees *@sums, which may be NULL, and clears it. */
void trace_sums_free(struct trace_sums **sums);

/* Returns node @number, below sums->nodes.count. Reading may move it. */
static inline const struct sums_node *trace_sums_node(
	const struct trace_sums *sums, uint32_t number)
{
	return &((const struct sums_node *)sums->nodes.items)[number];
}

#endif
