/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_tree_inner - what profile_tree and time_profile share: the items of
 * the two pools of a tree.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_PROFILE_TREE_INNER_H
#define PERFREC_COLLECTOR_PROFILE_PROFILE_TREE_INNER_H

#include <stddef.h>
#include <stdint.h>

#include "collector/profile/profile_tree.h"

/* Keys come first in both; see pool.h. */
struct owner {
	char process[16], thread[16];
	uint64_t pid;

	int64_t tid; /* 0: of several threads */
};

/* The node of an owner is a root: it has parent 0, and the owner's number as
 * @what. */
struct node {
	uint32_t parent; /* number + 1 */
	uint32_t what; /* location */

	int64_t value[]; /* value_count of the tree */
};

static inline struct owner *owner_at(const struct profile_tree *tree,
				     size_t number)
{
	return (struct owner *)tree->owners.items + number;
}

static inline struct node *node_at(const struct profile_tree *tree,
				   size_t number)
{
	return (struct node *)((uint8_t *)tree->nodes.items +
			       number * tree->nodes.item_bytes);
}

/* Sets *@out to the number of @owner in @tree. 0 or -ENOMEM. */
int profile_tree_add_owner(struct profile_tree *tree, const struct owner *owner,
			   uint32_t *out);
/* Sets *@out to the number of the node @what below @parent (as in struct node).
 * 0 or -ENOMEM. */
int profile_tree_node(struct profile_tree *tree, uint32_t parent, uint32_t what,
		      uint32_t *out);
/* Adds @value to @sum, as many values as @tree has. A sum stops at INT64_MAX.
 */
void profile_tree_add_values(const struct profile_tree *tree, int64_t *sum,
			     const int64_t *value);

#endif
