/* SPDX-License-Identifier: Apache-2.0
 *
 * graph - who calls a function, and whom it calls: counts and wall time, from
 * wall.pb.gz of a recording.
 *
 * A time is the wall time of all calls of the function, with what they called.
 * The times of the callers add up to it: a call inside another call of the same
 * function belongs to the caller of the outer one. So do the times of the
 * callees and of the function itself: what an inner call takes belongs to its
 * callees. The function as its own caller and callee has calls, and no time.
 */
#ifndef PERFREC_COLLECTOR_SHOW_GRAPH_H
#define PERFREC_COLLECTOR_SHOW_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/base/pool.h"
#include "collector/read/pprof_read.h"
#include "collector/read/summary_read.h"
#include "collector/show/pprof_rows.h"

struct graph_edge {
	const char *name, *module; /* of the other function; name "": a thread
				    * began with the function */
	int64_t calls, total_ns;
	bool estimated; /* calls were counted, not recorded: which caller they
			 * had is an estimate */
};

struct graph {
	const char *name, *module, *file; /* of the function; "": unknown */
	uint32_t line; /* 0: unknown */
	int64_t calls, self_ns, total_ns;
	bool estimated; /* as in an edge: the times are those of few calls */
	bool sampled; /* times are from samples (time_from) */
	/* Both sorted: the longest time, then the most calls first. */
	struct graph_edge *callers, *callees;
	size_t caller_count, callee_count;
	/* For graph_make() only. */
	struct pool caller_pool, callee_pool;
};

/* Make the graph of the function @name from @rows, the stacks of wall.pb.gz,
 * which was read as @pprof, and from @summary of the same recording. All three
 * outlive it. The caller ends *@out with graph_release(). 0, -ENOMEM, or
 * -EBADMSG: the profile has no calls. */
int graph_make(const struct pprof *pprof, const struct pprof_rows *rows,
	       const struct summary *summary, const char *name,
	       struct graph *out);
void graph_release(struct graph *graph);

/* Both return 0, -ENOMEM, or -EIO if @out cannot be written. @limit: how many
 * callers, and how many callees; 0: all. */
int graph_print(const struct graph *graph, size_t limit, bool full_names,
		FILE *out);
int graph_write_json(const struct graph *graph, FILE *out);

#endif
