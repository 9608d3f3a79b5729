/* SPDX-License-Identifier: Apache-2.0
 *
 * graph - callers and callees of a function, with calls and wall time, from
 * wall.pb.gz of a recording.
 *
 * The time of a function is the wall time of all its calls including callees.
 * The times of its callers have this sum, because a nested call of the same
 * function counts for the caller of the outer one. Self time and times of
 * callees also have this sum, because nested calls count for their callees. A
 * function that is its own caller and callee has calls, but no time.
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
	const char *name, *module; /* the other function; name "": a thread
				    * began with the function */
	int64_t calls, total_ns;
	bool estimated; /* the caller is estimated, because calls were only
			 * counted */
};

struct graph {
	const char *name, *module, *file; /* of the function; "": unknown */
	uint32_t line; /* 0: unknown */
	int64_t calls, self_ns, total_ns;
	bool estimated; /* the times are those of few calls */
	bool sampled; /* from samples (time_from) */
	/* Sorted by time, then by calls, largest first. */
	struct graph_edge *callers, *callees;
	size_t caller_count, callee_count;
	/* Only for graph_make(). */
	struct pool caller_pool, callee_pool;
};

/*
 * Makes the graph of the function @name from @rows, the stacks of wall.pb.gz
 * read as @pprof, and from @summary of the same recording. All three must
 * outlive *@out. The caller calls graph_release(). Returns 0, -ENOMEM, or
 * -EBADMSG if the profile has no calls.
 */
int graph_make(const struct pprof *pprof, const struct pprof_rows *rows,
	       const struct summary *summary, const char *name,
	       struct graph *out);
void graph_release(struct graph *graph);

/* Both return 0, -ENOMEM, or -EIO if @out cannot be written. @limit: number of
 * callers and of callees; 0: all. */
int graph_print(const struct graph *graph, size_t limit, bool full_names,
		FILE *out);
int graph_write_json(const struct graph *graph, FILE *out);

#endif
