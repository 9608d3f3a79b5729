/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_tree - two pools besides those of locations: owners and nodes. Parent
 * and location identify a node.
 *
 * A file lists all frames of each stack, so a recursion of depth 100,000 would
 * need 100,000 times 100,000 / 2 of them. So deep stacks are cut in the middle;
 * values by function stay exact. If memory is exhausted, or the file would be
 * too large for readers, stacks are lost and their values are added up.
 */
#include "collector/profile/profile_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/profile/function_table.h"
#include "collector/profile/profile_tree_inner.h"
#include "collector/replay/kernel_counts.h"
#include "shared/compiler.h"

/* pprof itself rejects files above 2 GiB uncompressed. */
#define BYTES_MAX (1ULL << 30)

#define NOT_THERE UINT32_MAX

void profile_tree_init(struct profile_tree *tree, struct symbol_cache *cache,
		       struct budget *budget, size_t type_count,
		       const struct profile_times *times)
{
	size_t value_count = times ? times->own + OWN_COUNTS : type_count;

	*tree = (struct profile_tree){ .value_count = value_count,
				       .times = times };
	locations_init(&tree->locations, cache, budget);
	pool_init(&tree->owners, budget, sizeof(struct owner),
		  offsetof(struct owner, tid));
	pool_init(&tree->nodes, budget,
		  sizeof(struct node) + value_count * sizeof(int64_t),
		  sizeof(struct node));
}

void profile_tree_release(struct profile_tree *tree)
{
	locations_release(&tree->locations);
	pool_release(&tree->owners);
	pool_release(&tree->nodes);
}

/* --- adding -------------------------------------------------------------- */

int profile_tree_add_owner(struct profile_tree *tree, const struct owner *owner,
			   uint32_t *out)
{
	int err = pool_intern(&tree->owners, owner, out);

	if (!err && owner_at(tree, *out)->tid != owner->tid)
		owner_at(tree, *out)->tid = 0;
	return MIN(err, 0);
}

int profile_tree_node(struct profile_tree *tree, uint32_t parent, uint32_t what,
		      uint32_t *out)
{
	union {
		struct node node;
		int64_t room[1 + OUT_VALUES_MAX];
	} one = { .room = { 0 } };

	one.node.parent = parent;
	one.node.what = what;
	return MIN(pool_intern(&tree->nodes, &one, out), 0);
}

int profile_tree_root(struct profile_tree *tree,
		      const struct profile_owner *owner, struct tree_place *out)
{
	struct owner one = { .pid = (uint32_t)owner->pid,
			     .trace_id = owner->trace_id,
			     .span_id = owner->span_id,
			     .tid = owner->tid };
	uint32_t number, node;
	int err;

	snprintf(one.process, sizeof(one.process), "%s", owner->process);
	snprintf(one.thread, sizeof(one.thread), "%s", owner->thread);
	err = profile_tree_add_owner(tree, &one, &number);
	if (!err)
		err = profile_tree_node(tree, 0, number, &node);
	if (!err)
		*out = (struct tree_place){ .node = node };
	return err;
}

/* Sets *@out to the parent (as in struct node) of a new node at @depth, called
 * from @above. Returns 0 or -ENOMEM. */
static int find_written_parent(struct profile_tree *tree,
			       const struct tree_place *above, uint32_t depth,
			       uint32_t *out)
{
	uint32_t location, mark;
	int err;

	*out = above->node + 1;
	if (depth <= PROFILE_DEPTH_MAX)
		return 0;
	/* The new node replaces its caller. Deeper down, the caller was such a
	 * replacement itself. */
	*out = node_at(tree, above->node)->parent;
	if (depth > PROFILE_DEPTH_MAX + 1)
		return 0;
	err = locations_mark(&tree->locations, "[truncated]", &location);
	if (!err)
		err = profile_tree_node(tree, *out, location, &mark);
	if (!err)
		*out = mark + 1;
	return err;
}

int profile_tree_child(struct profile_tree *tree,
		       const struct tree_place *parent, uint32_t location,
		       struct tree_place *out)
{
	uint32_t depth = parent->depth + 1, above;
	int err = find_written_parent(tree, parent, depth, &above);

	if (!err)
		err = profile_tree_node(tree, above, location, &out->node);
	if (!err)
		out->depth = MIN(depth, PROFILE_DEPTH_MAX + 1);
	return err;
}

static void add_tree_value(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value < 0 ? INT64_MIN : INT64_MAX;
}

void profile_tree_add_values(const struct profile_tree *tree, int64_t *sum,
			     const int64_t *value)
{
	for (size_t i = 0; i < tree->value_count; i++)
		add_tree_value(&sum[i], value[i]);
}

void profile_tree_count(struct profile_tree *tree,
			const struct tree_place *place, const int64_t *value)
{
	if (place->depth > PROFILE_DEPTH_MAX)
		add_tree_value(&tree->truncated, value[0]);
	profile_tree_add_values(tree, node_at(tree, place->node)->value, value);
}

void profile_tree_lose(struct profile_tree *tree, const int64_t *value)
{
	profile_tree_add_values(tree, tree->lost, value);
}

void profile_tree_scale(struct profile_tree *tree, size_t type, double factor)
{
	for (size_t i = 0; i < tree->nodes.count; i++) {
		int64_t *value = &node_at(tree, i)->value[type];

		*value = (int64_t)((double)*value * factor);
	}
	tree->lost[type] = (int64_t)((double)tree->lost[type] * factor);
}

/* --- merging ------------------------------------------------------------- */

/* Numbers in one tree of the locations, owners and nodes of another. */
struct renamed {
	uint32_t *location, *owner, *node;
};

static int merge_node(struct profile_tree *tree, const struct node *node,
		      const struct renamed *renamed, uint32_t *out)
{
	uint32_t parent;
	int err;

	if (!node->parent)
		return profile_tree_node(tree, 0, renamed->owner[node->what],
					 out);
	parent = renamed->node[node->parent - 1];
	if (parent == NOT_THERE)
		return -ENOMEM;
	err = profile_tree_node(tree, parent + 1, renamed->location[node->what],
				out);
	if (!err)
		profile_tree_add_values(tree, node_at(tree, *out)->value,
					node->value);
	return err;
}

static int merge_nodes(struct profile_tree *tree,
		       const struct profile_tree *from,
		       const struct renamed *renamed)
{
	int first_err = 0, err;

	for (size_t i = 0; i < from->nodes.count; i++) {
		err = merge_node(tree, node_at(from, i), renamed,
				 &renamed->node[i]);
		if (!err)
			continue;
		first_err = first_err ? first_err : err;
		renamed->node[i] = NOT_THERE;
		profile_tree_lose(tree, node_at(from, i)->value);
	}
	return first_err;
}

int profile_tree_merge(struct profile_tree *tree,
		       const struct profile_tree *from)
{
	const struct renamed renamed = {
		calloc(from->locations.items.count + 1, sizeof(uint32_t)),
		calloc(from->owners.count + 1, sizeof(uint32_t)),
		calloc(from->nodes.count + 1, sizeof(uint32_t)),
	};
	bool has_room = renamed.location && renamed.owner && renamed.node;
	int err = has_room ? locations_merge(&tree->locations, &from->locations,
					     renamed.location)
			   : -ENOMEM;

	for (size_t i = 0; i < from->owners.count && !err; i++)
		err = profile_tree_add_owner(tree, owner_at(from, i),
					     &renamed.owner[i]);
	profile_tree_lose(tree, from->lost);
	add_tree_value(&tree->truncated, from->truncated);
	if (!err)
		err = merge_nodes(tree, from, &renamed);
	else
		for (size_t i = 0; i < from->nodes.count; i++)
			profile_tree_lose(tree, node_at(from, i)->value);
	free(renamed.location);
	free(renamed.owner);
	free(renamed.node);
	return err;
}

/* --- writing ------------------------------------------------------------- */

static struct kernel_counts kernel_of(const struct profile_times *times,
				      const int64_t *value)
{
	const int64_t *on_cpu = &value[times->on_cpu];

	return (struct kernel_counts){
		.unknown_ns = (uint64_t)-MIN(on_cpu[0], 0),
		.runnable_ns = (uint64_t)on_cpu[1],
		.blocked_ns = (uint64_t)on_cpu[2],
	};
}

static void fit_on_cpu(const struct profile_times *times, const int64_t *value,
		       const struct own_counts *own,
		       int64_t out[OUT_VALUES_MAX])
{
	int64_t *on_cpu = &out[times->on_cpu];
	struct kernel_counts counts = kernel_of(times, value);
	uint64_t ns = (uint64_t)MAX(out[times->time], 0);

	kernel_counts_fit(&counts, (uint64_t)MAX(value[times->time], 0), ns,
			  own->wait_ns);
	on_cpu[0] = (int64_t)(ns - kernel_counts_off_ns(&counts));
	on_cpu[1] = (int64_t)counts.runnable_ns;
	on_cpu[2] = (int64_t)counts.blocked_ns;
}

void profile_tree_begin_times(struct profile_tree *tree)
{
	const struct profile_times *times = tree->times;
	const size_t own_bytes = OWN_COUNTS * sizeof(int64_t);

	tree->timed = true;
	for (size_t i = 0; i < tree->nodes.count; i++)
		memset(&node_at(tree, i)->value[times->own], 0, own_bytes);
	memset(&tree->lost[times->own], 0, own_bytes);
}

/* Negative values, which repaired clocks may leave, become 0. */
bool profile_tree_values(const struct profile_tree *tree, const int64_t *value,
			 const struct own_costs *costs,
			 int64_t out[OUT_VALUES_MAX])
{
	const struct profile_times *times = tree->times;
	const int64_t *given;
	size_t count = times ? times->own : tree->value_count;
	struct own_counts own;
	uint64_t below_ns = 0;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		out[i] = MAX(value[i], 0);
		any |= out[i] > 0;
	}
	if (!times)
		return any;
	if (tree->timed) {
		/* Converts times after profile_tree_begin_times(). */
		given = &value[times->own];
		out[times->own] = out[times->time];
		out[times->time] = given[TIME_ON_CPU] + given[TIME_RUNNABLE] +
				   given[TIME_BLOCKED];
		if (times->on_cpu)
			memcpy(&out[times->on_cpu], given, 3 * sizeof(*given));
		return any || out[times->time] > 0;
	}
	memcpy(&own, &value[times->own], sizeof(own));
	out[times->own] = out[times->time];
	out[times->time] = true_time(out[times->time], costs, &own, &below_ns);
	if (times->on_cpu)
		fit_on_cpu(times, value, &own, out);
	return any;
}

static void write_tree_sample(const struct profile_tree *tree,
			      struct out_pprof *out, const struct node *node,
			      const int64_t *values)
{
	uint64_t stack[PROFILE_DEPTH_MAX + 1]; /* and a mark */
	const struct owner *owner;
	struct out_labels labels;
	size_t depth = 0;

	for (; node->parent; node = node_at(tree, node->parent - 1))
		stack[depth++] = node->what + 1ULL;
	owner = owner_at(tree, node->what);
	labels = (struct out_labels){ .process = owner->process,
				      .thread = owner->thread,
				      .pid = (pid_t)owner->pid,
				      .trace_id = owner->trace_id,
				      .span_id = owner->span_id,
				      .tid = owner->tid };
	out_pprof_sample(out, stack, depth, values, &labels);
}

int profile_tree_write(const struct profile_tree *tree, struct out_pprof *out,
		       const struct own_costs *costs, int64_t *unwritten)
{
	int64_t values[OUT_VALUES_MAX];
	const char *program =
		tree->owners.count ? owner_at(tree, 0)->process : NULL;
	int err = locations_write(&tree->locations, program, NULL, out);

	*unwritten = 0;
	for (size_t i = 0; i < tree->nodes.count && !err; i++) {
		const struct node *node = node_at(tree, i);

		if (!node->parent ||
		    !profile_tree_values(tree, node->value, costs, values))
			continue;
		if (out_pprof_bytes(out) < BYTES_MAX)
			write_tree_sample(tree, out, node, values);
		else
			add_tree_value(unwritten, values[0]);
	}
	return err;
}

int profile_tree_sum(const struct profile_tree *tree,
		     struct function_table *table)
{
	int err = 0;

	for (size_t i = 0; i < tree->nodes.count && !err; i++) {
		const struct node *node = node_at(tree, i);
		struct function_total one = { 0 };

		if (!node->parent)
			continue;
		locations_name(&tree->locations, node->what, &one.name,
			       &one.module);
		one.calls = (uint64_t)MAX(node->value[0], 0);
		one.measured_self_ns = (uint64_t)node->value[tree->times->time];
		memcpy(&one.own_self, &node->value[tree->times->own],
		       sizeof(one.own_self));
		if (tree->times->on_cpu)
			one.kernel_self = kernel_of(tree->times, node->value);
		err = function_table_add(table, &one);
	}
	return err;
}
