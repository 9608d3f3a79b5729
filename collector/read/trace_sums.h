/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_sums - the data of a summary and of wall.pb.gz about spans, from the
 * trace alone: the tree of all stacks of each thread with calls and self times,
 * and sums by function. It serves recordings whose collector was killed before
 * it wrote these files, and ranges of any recording. A range counts calls that
 * overlap it, with the times inside. Memory is bounded for any trace, even a
 * hostile one. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_SUMS_H
#define PERFREC_COLLECTOR_READ_TRACE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/base/histogram.h"
#include "collector/read/call_tree.h"

/* A stack of a thread. */
struct sums_node {
	struct call_node call;
	uint64_t calls, self_ns, total_ns;
	uint64_t longest_ns; /* of calls that ended in the range, from their
			      * true start; 0: none */
};

/* A function, or slices of an annotation with one name. */
struct sums_function {
	uint32_t name;
	uint64_t calls, self_ns, total_ns, longest_ns;
	/* Durations of the calls; NULL: some are missing. */
	const struct histogram *durations;
};

struct trace_sums {
	struct call_tree tree; /* by_thread; nodes are struct sums_node */
	struct histogram **durations; /* by number of a text; NULL: none yet */
	uint32_t durations_room;
	struct budget durations_budget; /* a part of tree.budget */
	struct sums_function *functions; /* only functions with calls */
	uint32_t function_count, processes;
	uint64_t spans;
	uint64_t open_before, open_after; /* spans open at FROM and at TO */
	uint64_t waits, wait_ns; /* of threads, for room in their rings */
	uint32_t wait_name; /* text: the name of such slices; 0: not found */
	uint32_t wait_looked; /* texts below this were compared */
	uint64_t lost, paused; /* missing calls, reported by the trace */
};

/*
 * Reads the part of the trace at @path that @choice selects; NULL: all.
 * @progress may be NULL. Returns 0, and the caller frees *@out with
 * trace_sums_free(). A truncated or damaged trace is read up to the damage, as
 * out->tree.err and out->tree.totals report. Returns -errno if the file cannot be opened,
 * -EIO if sums of the index are unreadable, or -ENOMEM; then *@out is
 * unchanged. Logs nothing.
 */
int trace_sums_read(const char *path, const struct window_choice *choice,
		    const struct read_progress *progress,
		    struct trace_sums **out);
/* Frees *@sums, which may be NULL, and clears it. */
void trace_sums_free(struct trace_sums **sums);

/* Returns node @number, below sums->tree.nodes.count. Reading may move it. */
static inline const struct sums_node *trace_sums_node(
	const struct trace_sums *sums, uint32_t number)
{
	return &((const struct sums_node *)sums->tree.nodes.items)[number];
}

#endif
