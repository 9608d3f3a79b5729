/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_tree - the stacks of a profile (stack_profile.h): one tree of
 * locations in which every owner is a root, with values by node. Its memory
 * grows with distinct stacks, not with threads. These functions read files: the
 * jobs thread calls them, or another thread that may wait, one at a time.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_PROFILE_TREE_H
#define PERFREC_COLLECTOR_PROFILE_PROFILE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/profile/locations.h"
#include "collector/profile/out_pprof.h"
#include "collector/profile/true_time.h"
#include "collector/base/pool.h"

/* A stack that is deeper is written as its outermost functions, one called
 * "[truncated]", and the innermost. */
#define PROFILE_DEPTH_MAX 512

/* Whose stacks: they become labels of the samples. Threads of one process with
 * the same name share their samples, which then have no tid. */
struct profile_owner {
	pid_t pid, tid;
	char process[16], thread[16];
};

/*
 * Values that are times, from which perfrec's own cost is subtracted when they
 * are written. A node has OWN_COUNTS values at @own, struct own_counts. In the
 * file stand in their place, at @own, the time as it was measured, and what is
 * left of it at @time.
 */
struct profile_times {
	size_t time, own;
	/* If it is not 0: the part of the time on a CPU. In the file it is the
	 * time, less the two values behind it. */
	size_t on_cpu;
};

struct function_table;

struct profile_tree {
	struct locations locations;
	struct pool owners, nodes;
	size_t value_count; /* of a node */
	const struct profile_times *times; /* NULL: there are none */
	/* The values of stacks that found no memory. */
	int64_t lost[OUT_VALUES_MAX];
	int64_t truncated; /* the first value, of stacks that are too deep */
	bool timed; /* profile_tree_begin_times() */
};

/* The times of a stack, in this order from @own of its tree on. */
enum given_time {
	TIME_ON_CPU,
	TIME_RUNNABLE,
	TIME_BLOCKED,
};

/* One node of the tree. */
struct tree_place {
	uint32_t node;
	uint32_t depth; /* as it is written */
};

/* Begins without nodes. A file of it has @type_count values; if @times is not
 * NULL, the last of them is the measured time. @cache, @budget and @times must
 * outlive @tree. */
void profile_tree_init(struct profile_tree *tree, struct symbol_cache *cache,
		       struct budget *budget, size_t type_count,
		       const struct profile_times *times);
void profile_tree_release(struct profile_tree *tree);

/* Sets *@out to the root of @owner's stacks. 0 or -ENOMEM. */
int profile_tree_root(struct profile_tree *tree,
		      const struct profile_owner *owner,
		      struct tree_place *out);
/*
 * Sets *@out to the place of @location called from @parent. A place that is
 * more than PROFILE_DEPTH_MAX deep takes the place of its caller, below a mark
 * "[truncated]". 0 or -ENOMEM.
 */
int profile_tree_child(struct profile_tree *tree,
		       const struct tree_place *parent, uint32_t location,
		       struct tree_place *out);
/* Adds @value, as many values as the tree has, to those of @place. A sum stops
 * at INT64_MAX. */
void profile_tree_count(struct profile_tree *tree,
			const struct tree_place *place, const int64_t *value);
/* Adds @value to the values that have no place. */
void profile_tree_lose(struct profile_tree *tree, const int64_t *value);
/* Multiplies value @type of every node by @factor, 0 or more. */
void profile_tree_scale(struct profile_tree *tree, size_t type, double factor);
/* Adds all of @from, which has the same cache and as many values. 0, or
 * -ENOMEM: what found no memory is lost. */
int profile_tree_merge(struct profile_tree *tree,
		       const struct profile_tree *from);

/*
 * Replaces the times of recorded calls in @tree: from now on the caller adds
 * times at @own (enum given_time). A file has their sum as its time, and keeps
 * the measured time. Forgets what perfrec did in the recorded calls, so
 * profile_tree_sum() comes before.
 */
void profile_tree_begin_times(struct profile_tree *tree);
/* Adds calls, measured self times and what perfrec did in them to @table, by
 * function. The tree has times, and calls as its first value. 0 or -ENOMEM. */
int profile_tree_sum(const struct profile_tree *tree,
		     struct function_table *table);
/*
 * Writes the whole tree, times without @costs. Negative values become 0, and
 * stacks whose values are all 0 are left out. When the file has the size that
 * readers take, the first values of all further stacks are summed up in
 * @unwritten. 0 or -ENOMEM.
 */
int profile_tree_write(const struct profile_tree *tree, struct out_pprof *out,
		       const struct own_costs *costs, int64_t *unwritten);
/* Sets @out to @value of a node, or of what was lost, as a file has it. False:
 * all of @out is 0. */
bool profile_tree_values(const struct profile_tree *tree, const int64_t *value,
			 const struct own_costs *costs,
			 int64_t out[OUT_VALUES_MAX]);

#endif
