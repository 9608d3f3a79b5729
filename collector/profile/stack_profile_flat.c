/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_profile_flat - adds calling-context trees of threads to a profile: maps
 * each node of a tree to a node of the profile, parents first.
 *
 * A location here has one line: that of the function itself. Functions that
 * debug information reports as inlined at its entry have no line there: they
 * have hooks, and so their own stacks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/profile/stack_profile_inner.h"
#include "collector/profile/stacks.h"
#include "collector/replay/cct.h"
#include "collector/replay/cct_flat.h"
#include "shared/compiler.h"

#define NOT_THERE UINT32_MAX

struct flat_addition {
	struct profile_tree *tree;
	const struct cct_flat *flat;
	uint32_t *location; /* of each function; [0]: overflow */
	struct tree_place *mapped; /* each node of flat */
};

void stack_profile_add_lost(struct stack_profile *profile, uint64_t calls)
{
	const int64_t value[WALL_VALUES] = {
		[WALL_CALLS] = (int64_t)MIN(calls, (uint64_t)INT64_MAX)
	};

	profile_tree_lose(&profile->tree, value);
}

static void lose_node(struct flat_addition *add, const struct flat_node *node)
{
	const int64_t value[WALL_VALUES] = {
		[WALL_CALLS] = (int64_t)MIN(node->calls, (uint64_t)INT64_MAX)
	};

	profile_tree_lose(add->tree, value);
}

/* Adds the node @index, whose parent was mapped to @above, and sets *@out to
 * its place. */
static int map_node(struct flat_addition *add, size_t index,
		    const struct tree_place *above, struct tree_place *out)
{
	const struct flat_node *flat = &add->flat->node[index];
	int64_t value[WALL_VALUES] = {
		[WALL_CALLS] = (int64_t)MIN(flat->calls, (uint64_t)INT64_MAX),
		[WALL_NS] = flat->self_ns,
	};
	int err;

	memcpy(&value[WALL_OWN], &flat->own, sizeof(flat->own));
	if (above->node == NOT_THERE)
		return -ENOMEM;
	err = profile_tree_child(add->tree, above,
				 add->location[flat->function], out);
	if (!err)
		profile_tree_count(add->tree, out, value);
	return err;
}

static int map_flat_nodes(struct flat_addition *add)
{
	const struct cct_flat *flat = add->flat;
	int first_err = 0, err;

	for (size_t i = 1; i < flat->node_count; i++) {
		err = map_node(add, i, &add->mapped[flat->node[i].parent],
			       &add->mapped[i]);
		if (!err)
			continue;
		first_err = first_err ? first_err : err;
		add->mapped[i].node = NOT_THERE;
		lose_node(add, &flat->node[i]);
	}
	return first_err;
}

static int map_locations(struct flat_addition *add, struct modules *modules)
{
	const struct cct_flat *flat = add->flat;
	struct locations *locations = &add->tree->locations;
	int err = locations_mark(locations, "[overflow]", &add->location[0]);

	for (size_t i = 1; i < flat->function_count && !err; i++) {
		const struct stack_frame frame = {
			.address = flat->function[i].address,
			.generation = flat->function[i].generation,
			.kind = FRAME_ENTRY,
		};

		if (frame.address == CCT_UNKNOWN_CALLERS)
			err = locations_mark(locations, "[callers not known]",
					     &add->location[i]);
		else
			err = locations_find(locations, modules, &frame,
					     &add->location[i]);
	}
	return err;
}

int stack_profile_add_flat(struct stack_profile *profile,
			   const struct profile_owner *owner,
			   const struct cct_flat *flat, struct modules *modules)
{
	struct flat_addition add = {
		.tree = &profile->tree,
		.flat = flat,
		.location = calloc(flat->function_count, sizeof(*add.location)),
		.mapped = calloc(flat->node_count, sizeof(*add.mapped)),
	};
	int err = add.location && add.mapped ? map_locations(&add, modules)
					     : -ENOMEM;

	if (!err)
		err = profile_tree_root(add.tree, owner, &add.mapped[0]);
	if (!err)
		err = map_flat_nodes(&add);
	else
		for (size_t i = 1; i < flat->node_count; i++)
			lose_node(&add, &flat->node[i]);
	free(add.location);
	free(add.mapped);
	return err;
}
