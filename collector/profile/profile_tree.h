/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_tree - the stacks of a profile (stack_profile.h): a tree of locations
 * with a root for each owner, and values by node. Its memory grows with
 * distinct stacks, not with threads. These functions read files: the jobs
 * thread or another thread that may wait calls them, one at a time.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_PROFILE_TREE_H
#define PERFREC_COLLECTOR_PROFILE_PROFILE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/pool.h"
#include "collector/output/out_pprof.h"
#include "collector/profile/locations.h"
#include "collector/profile/true_time.h"

/* A deeper stack is written as its outermost functions, "[truncated]", and the
 * innermost function. */
#define PROFILE_DEPTH_MAX 512

/* The owner of stacks becomes labels of the samples. Threads of a process with
 * equal names share their samples, which then have no tid. */
struct profile_owner {
	pid_t pid, tid;
	char process[16], thread[16];
	const char *trace_id, *span_id; /* of the symbol cache; may be NULL */
};

/* Values that are times. Writing subtracts perfrec's own cost from them. A node
 * has struct own_counts as OWN_COUNTS values at @own. The file instead has the
 * measured time at @own, and the rest at @time. */
struct profile_times {
	size_t time, own;
	/* Index of the time on a CPU, or 0. In the file it is the time minus
	 * the two following values. */
	size_t on_cpu;
};

struct function_table;

struct profile_tree {
	struct locations locations;
	struct pool owners, nodes;
	size_t value_count;
	const struct profile_times *times; /* may be NULL */
	/* Values of stacks without memory. */
	int64_t lost[OUT_VALUES_MAX];
	int64_t truncated; /* first value of stacks that are too deep */
	bool timed; /* profile_tree_begin_times() was called */
};

/* Times of a stack, in this order from @own of its tree. */
enum given_time {
	TIME_ON_CPU,
	TIME_RUNNABLE,
	TIME_BLOCKED,
};

struct tree_place {
	uint32_t node;
	uint32_t depth;
};

/* Begins without nodes. Its file has @type_count values; if @times is not NULL,
 * the last of them is the measured time. @cache, @budget and @times must
 * outlive @tree. */
void profile_tree_init(struct profile_tree *tree, struct symbol_cache *cache,
		       struct budget *budget, size_t type_count,
		       const struct profile_times *times);
void profile_tree_release(struct profile_tree *tree);

/* Sets *@out to the root of @owner's stacks. Returns 0 or -ENOMEM. */
int profile_tree_root(struct profile_tree *tree,
		      const struct profile_owner *owner,
		      struct tree_place *out);
/* Sets *@out to the place of @location called from @parent. A place deeper than
 * PROFILE_DEPTH_MAX replaces its caller below a mark "[truncated]". Returns 0
 * or -ENOMEM. */
int profile_tree_child(struct profile_tree *tree,
		       const struct tree_place *parent, uint32_t location,
		       struct tree_place *out);
/* Adds @value, one value for each of the tree, to @place. Sums saturate at
 * INT64_MAX. */
void profile_tree_count(struct profile_tree *tree,
			const struct tree_place *place, const int64_t *value);
/* Adds @value to the lost values. */
void profile_tree_lose(struct profile_tree *tree, const int64_t *value);
/* Multiplies value @type of every node by @factor, 0 or more. */
void profile_tree_scale(struct profile_tree *tree, size_t type, double factor);
/* Adds all of @from, which must have the same cache and number of values.
 * Returns 0, or -ENOMEM; then values without memory are lost. */
int profile_tree_merge(struct profile_tree *tree,
		       const struct profile_tree *from);

/*
 * Replaces the times of recorded calls in @tree: from now on the caller adds
 * times at @own (enum given_time). A file has their sum as its time, and keeps
 * the measured time. Forgets perfrec's events in the recorded calls, so call
 * profile_tree_sum() before.
 */
void profile_tree_begin_times(struct profile_tree *tree);
/* Adds calls, measured self times and perfrec's events to @table, by
 * function. The tree must have times, and calls as its first value. Returns
 * 0 or -ENOMEM. */
int profile_tree_sum(const struct profile_tree *tree,
		     struct function_table *table);
/*
 * Writes the entire tree, with times without @costs. Negative values become 0;
 * stacks with all values 0 are skipped. When the file reaches the size limit of
 * readers, adds up the first values of all further stacks in @unwritten.
 * Returns 0 or -ENOMEM.
 */
int profile_tree_write(const struct profile_tree *tree, struct out_pprof *out,
		       const struct own_costs *costs, int64_t *unwritten);
/* Converts @value of a node, or of lost stacks, to @out as in a file. Returns
 * false if all of @out is 0. */
bool profile_tree_values(const struct profile_tree *tree, const int64_t *value,
			 const struct own_costs *costs,
			 int64_t out[OUT_VALUES_MAX]);

#endif
