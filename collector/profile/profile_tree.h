/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_tree - the stacks of a profile (stack_profile.h): one tree of
 * locations in which every owner is a root, with values by node.
 * What memory it needs grows with distinct stacks, not with threads. They read
 * files: the jobs thread, or another that may wait, one at a time.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_PROFILE_TREE_H
#define PERFREC_COLLECTOR_PROFILE_PROFILE_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/profile/locations.h"
#include "collector/profile/out_pprof.h"
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

struct profile_tree {
	struct locations locations;
	struct pool owners, nodes;
	size_t value_count;
	/* No memory for their stacks. */
	int64_t lost[OUT_VALUES_MAX];
	int64_t truncated; /* of the first value: too deep */
};

/* One node of the tree. */
struct tree_place {
	uint32_t node;
	uint32_t depth; /* as it is written */
};

/* @cache and @budget must outlive it. */
void profile_tree_init(struct profile_tree *tree, struct symbol_cache *cache,
		       struct budget *budget, size_t value_count);
void profile_tree_release(struct profile_tree *tree);

/* The root of @owner's stacks. 0 or -ENOMEM. */
int profile_tree_root(struct profile_tree *tree,
		      const struct profile_owner *owner,
		      struct tree_place *out);
/*
 * The place of @location called from @parent. Below PROFILE_DEPTH_MAX it takes
 * the place of its caller, below a mark "[truncated]". 0 or -ENOMEM.
 */
int profile_tree_child(struct profile_tree *tree,
		       const struct tree_place *parent, uint32_t location,
		       struct tree_place *out);
/* Sums stop at the greatest number there is. */
void profile_tree_count(struct profile_tree *tree,
			const struct tree_place *place, const int64_t *value);
/* Count what has no place. */
void profile_tree_lose(struct profile_tree *tree, const int64_t *value);
/* Multiply value @type of every node by @factor, 0 or more. */
void profile_tree_scale(struct profile_tree *tree, size_t type, double factor);
/* Add all of @from, of the same cache and as many values. 0, or -ENOMEM: what
 * finds no room is lost. */
int profile_tree_merge(struct profile_tree *tree,
		       const struct profile_tree *from);

/*
 * Write all of it. Negative values are written as 0, and what is all 0 is not
 * written. What a file of a size that readers take has no room for is summed
 * up in @unwritten. 0 or -ENOMEM.
 */
int profile_tree_write(const struct profile_tree *tree, struct out_pprof *out,
		       int64_t unwritten[OUT_VALUES_MAX]);

#endif
