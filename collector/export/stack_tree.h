/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_tree - a value of a profile as a tree of names. Stacks with equal names
 * are merged, regardless of lines. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_STACK_TREE_H
#define PERFREC_COLLECTOR_EXPORT_STACK_TREE_H

#include <stdint.h>

#include "collector/base/pool.h"
#include "collector/read/pprof_read.h"

/* Node 0 is the root, which has no name. */
struct stack_node {
	uint32_t parent, name; /* name: see stack_tree_name() */
	uint64_t self, total;
	/* Children: tree.order[first] to [first + count - 1], by name. */
	uint32_t first, count;
	uint32_t depth; /* of the root 0 */
};

struct stack_tree {
	struct pool names; /* of const char * */
	struct pool nodes; /* of struct stack_node; parents before children */
	uint32_t *order; /* node numbers */
	uint32_t depth; /* of the deepest node */
};

/* Makes the tree of value @value in @profile, which must outlive it. Skips
 * stacks with values of 0 or less. Returns 0, and the caller calls
 * stack_tree_release(); or -ENOMEM. */
int stack_tree_make(const struct pprof *profile, uint32_t value,
		    struct stack_tree *out);
void stack_tree_release(struct stack_tree *tree);
const struct stack_node *stack_tree_node(const struct stack_tree *tree,
					 uint32_t number);
/* Returns the name of a node; "[unknown]" if the profile has none. */
const char *stack_tree_name(const struct stack_tree *tree,
			    const struct stack_node *node);

#endif
