/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_tree_inner - items of the two pools of a tree, for profile_tree and
 * time_profile.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_PROFILE_TREE_INNER_H
#define PERFREC_COLLECTOR_PROFILE_PROFILE_TREE_INNER_H

#include <stddef.h>
#include <stdint.h>

#include "collector/profile/profile_tree.h"

/* Keys come first in both structs; see pool.h. */
struct owner {
	char process[16], thread[16];
	uint64_t pid;
	const char *trace_id, *span_id;

	int64_t tid; /* 0: of several threads */
};

/* An owner's node is a root: parent is 0, and what is the owner's number. */
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

/* Sets *@out to the number of @owner in @tree. Returns 0 or -ENOMEM. */
int profile_tree_add_owner(struct profile_tree *tree, const struct owner *owner,
			   uint32_t *out);
/* Sets *@out to the node @what below @parent (as in struct node). Returns 0 or
 * -ENOMEM. */
int profile_tree_node(struct profile_tree *tree, uint32_t parent, uint32_t what,
		      uint32_t *out);
/* Adds @value to @sum, one value for each of @tree. Sums saturate at
 * INT64_MAX. */
void profile_tree_add_values(const struct profile_tree *tree, int64_t *sum,
			     const int64_t *value);

#endif
