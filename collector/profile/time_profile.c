/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/profile/time_profile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/profile/function_table.h"
#include "collector/profile/profile_tree_inner.h"
#include "collector/profile/stack_profile.h"
#include "collector/profile/stack_profile_inner.h"
#include "shared/compiler.h"

#define NO_NODE UINT32_MAX

/* The values of a node of stack_profile_time. */
enum time_value {
	TIME_SAMPLES,
	TIME_GIVEN, /* first of enum given_time */
	TIME_VALUES = TIME_GIVEN + 3,
};

const struct stack_profile_kind stack_profile_time = {
	.types =
		(const struct out_value_type[]){ { "samples", "count" },
						 { "on_cpu", "nanoseconds" },
						 { "runnable", "nanoseconds" },
						 { "blocked", "nanoseconds" } },
	.count = TIME_VALUES,
	.default_type = TIME_GIVEN,
	.period_type = { "cpu", "nanoseconds" },
	.one = "sample",
	.many = "samples",
	.keeps_lost = true,
};

/* --- transfer between trees ---------------------------------------------- */

struct transfer {
	struct profile_tree *to;
	const struct profile_tree *from;
	/* New numbers in @to of locations and nodes of @from. A node of
	 * perfrec's own code maps to its caller. */
	uint32_t *location, *node;
	/* Converts the values of a node of @from to those of @to. */
	void (*convert)(const int64_t *value, int64_t *out);
};

static void transfer_release(struct transfer *transfer)
{
	free(transfer->location);
	free(transfer->node);
}

static int transfer_node(struct transfer *transfer, const struct node *node,
			 uint32_t *out)
{
	const struct owner *owner;
	uint32_t parent, number;
	int err;

	if (!node->parent) {
		owner = owner_at(transfer->from, node->what);
		*out = NO_NODE;
		/* Rows of unrecorded processes have no pid. */
		if (owner->pid == 0)
			return 0;
		err = profile_tree_add_owner(transfer->to, owner, &number);
		return err ? err
			   : profile_tree_node(transfer->to, 0, number, out);
	}
	parent = transfer->node[node->parent - 1];
	*out = parent;
	if (parent == NO_NODE ||
	    locations_is_own(&transfer->from->locations, node->what))
		return 0;
	return profile_tree_node(transfer->to, parent + 1,
				 transfer->location[node->what], out);
}

/* Begins @out and makes the nodes. The caller calls transfer_release() in any
 * case. Returns 0 or -ENOMEM. */
static int transfer_begin(struct transfer *out, struct profile_tree *to,
			  const struct profile_tree *from)
{
	int err = 0;

	out->to = to;
	out->from = from;
	out->location =
		calloc(from->locations.items.count + 1, sizeof(uint32_t));
	out->node = calloc(from->nodes.count + 1, sizeof(uint32_t));
	if (!out->location || !out->node)
		return -ENOMEM;
	err = locations_merge(&to->locations, &from->locations, out->location);
	for (size_t i = 0; i < from->nodes.count && !err; i++)
		err = transfer_node(out, node_at(from, i), &out->node[i]);
	return err;
}

static void transfer_values(const struct transfer *transfer, size_t i,
			    size_t place)
{
	int64_t value[OUT_VALUES_MAX] = { 0 };
	uint32_t to = transfer->node[place];

	if (to == NO_NODE)
		return;
	transfer->convert(node_at(transfer->from, i)->value, value);
	profile_tree_add_values(transfer->to, node_at(transfer->to, to)->value,
				value);
}

/* --- CPU samples --------------------------------------------------------- */

static void convert_cpu(const int64_t *value, int64_t *out)
{
	out[TIME_SAMPLES] = value[0];
	out[TIME_GIVEN + TIME_ON_CPU] = value[1];
}

int time_profile_add_cpu(struct stack_profile *times,
			 const struct stack_profile *cpu)
{
	const struct profile_tree *from = &cpu->tree;
	struct transfer transfer = { .convert = convert_cpu };
	int err = transfer_begin(&transfer, &times->tree, from);

	for (size_t i = 0; i < from->nodes.count && !err; i++) {
		const struct node *node = node_at(from, i);

		if (node->parent &&
		    !locations_is_own(&from->locations, node->what))
			transfer_values(&transfer, i, i);
	}
	transfer_release(&transfer);
	return err;
}

/* --- waits --------------------------------------------------------------- */

static void convert_blocked(const int64_t *value, int64_t *out)
{
	out[TIME_GIVEN + TIME_BLOCKED] = value[1];
}

/* Returns for each location of @tree whether one of its functions has hooks.
 * The caller frees the array. NULL without memory. */
static bool *find_hooks(const struct profile_tree *tree,
			const struct time_functions *functions)
{
	const struct locations *locations = &tree->locations;
	bool *has_hooks =
		calloc(locations->items.count + 1, sizeof(*has_hooks));
	struct location_names names;
	int err = location_names_find(locations, functions->inlined, &names);

	for (uint32_t i = 0; has_hooks && !err && i < locations->items.count;
	     i++) {
		const char *name, *module;

		locations_name(locations, i, &name, &module);
		for (size_t k = names.first[i]; k < names.first[i + 1]; k++)
			has_hooks[i] |= function_table_has_hooks(
				functions->table, names.name[k], module);
	}
	location_names_release(&names);
	if (!err)
		return has_hooks;
	free(has_hooks);
	return NULL;
}

/* Returns true for a row without module: an object of a wait, or
 * "[unknown]". */
static bool is_mark_node(const struct profile_tree *tree,
			 const struct node *node)
{
	const char *name, *module;

	locations_name(&tree->locations, node->what, &name, &module);
	return !module[0] && name[0] == '[';
}

/* Returns the node of @tree that gets the time of a wait at node @i, or NO_NODE
 * if perfrec itself waited. */
static size_t place_of_wait(const struct profile_tree *tree, size_t i,
			    const bool *has_hooks)
{
	const struct node *node = node_at(tree, i);
	size_t innermost;

	for (; is_mark_node(tree, node); node = node_at(tree, i)) {
		if (locations_is_own(&tree->locations, node->what))
			return NO_NODE;
		if (!node_at(tree, node->parent - 1)->parent)
			break;
		i = node->parent - 1;
	}
	innermost = i;
	for (; node->parent; node = node_at(tree, i)) {
		if (has_hooks[node->what])
			return i;
		i = node->parent - 1;
	}
	return innermost;
}

int time_profile_add_blocked(struct stack_profile *times,
			     const struct stack_profile *offcpu,
			     const struct time_functions *functions)
{
	const struct profile_tree *from = &offcpu->tree;
	struct transfer transfer = { .convert = convert_blocked };
	bool *has_hooks = find_hooks(from, functions);
	int err = has_hooks ? transfer_begin(&transfer, &times->tree, from)
			    : -ENOMEM;

	for (size_t i = 0; i < from->nodes.count && !err; i++) {
		size_t place;

		if (!node_at(from, i)->parent || !node_at(from, i)->value[1])
			continue;
		place = place_of_wait(from, i, has_hooks);
		if (place != NO_NODE)
			transfer_values(&transfer, i, place);
	}
	transfer_release(&transfer);
	free(has_hooks);
	return err;
}

/* --- runnable ------------------------------------------------------------ */

static uint32_t *find_owners(const struct profile_tree *tree)
{
	uint32_t *owner = calloc(tree->nodes.count + 1, sizeof(*owner));

	for (size_t i = 0; owner && i < tree->nodes.count; i++) {
		const struct node *node = node_at(tree, i);

		/* A caller has a smaller number. */
		owner[i] = node->parent ? owner[node->parent - 1] : node->what;
	}
	return owner;
}

/* Time of an owner to spread, and the times to spread it over. */
struct spread {
	double runnable_ns, on_cpu_ns, blocked_ns;
};

static void sum_runnable(const struct profile_tree *times,
			 const struct profile_tree *spans,
			 struct spread *spread)
{
	uint32_t *owner = find_owners(spans), number;

	for (size_t i = 0; owner && i < spans->nodes.count; i++) {
		int64_t ns = node_at(spans, i)->value[SPAN_RUNNABLE];

		if (ns > 0 && pool_find(&times->owners,
					owner_at(spans, owner[i]), &number))
			spread[number].runnable_ns += (double)ns;
	}
	free(owner);
}

void time_profile_spread_runnable(struct stack_profile *times,
				  const struct stack_profile *spans)
{
	struct profile_tree *tree = &times->tree;
	uint32_t *owner = find_owners(tree);
	struct spread *spread = calloc(tree->owners.count + 1, sizeof(*spread));

	if (spread && owner)
		sum_runnable(tree, &spans->tree, spread);
	for (size_t i = 0; spread && owner && i < tree->nodes.count; i++) {
		const int64_t *given = &node_at(tree, i)->value[TIME_GIVEN];

		spread[owner[i]].on_cpu_ns += (double)given[TIME_ON_CPU];
		spread[owner[i]].blocked_ns += (double)given[TIME_BLOCKED];
	}
	for (size_t i = 0; spread && owner && i < tree->nodes.count; i++) {
		int64_t *given = &node_at(tree, i)->value[TIME_GIVEN];
		const struct spread *one = &spread[owner[i]];
		bool by_cpu = one->on_cpu_ns > 0;
		double part =
			(double)given[by_cpu ? TIME_ON_CPU : TIME_BLOCKED];
		double all = by_cpu ? one->on_cpu_ns : one->blocked_ns;

		if (part > 0)
			given[TIME_RUNNABLE] +=
				(int64_t)(one->runnable_ns * part / all);
	}
	free(spread);
	free(owner);
}

/* --- by function --------------------------------------------------------- */

struct summing {
	const struct profile_tree *tree;
	struct location_names names;
	uint32_t *number; /* of each name in the table */
	struct function_times *self, *total; /* by this number */
	uint32_t *seen; /* by this number: last added node, plus 1 */
};

static bool is_stack_node(const struct profile_tree *tree, size_t i)
{
	const struct node *node = node_at(tree, i);

	for (size_t k = 0; node->parent && k < TIME_VALUES; k++)
		if (node->value[k])
			return true;
	return false;
}

static int find_location_numbers(struct summing *sum, uint32_t i,
				 struct function_table *functions)
{
	const char *name, *module;
	int err = 0;

	locations_name(&sum->tree->locations, i, &name, &module);
	for (size_t k = sum->names.first[i];
	     k < sum->names.first[i + 1] && !err; k++)
		err = function_table_number(functions, sum->names.name[k],
					    module, &sum->number[k]);
	return err;
}

static int find_numbers(struct summing *sum,
			const struct time_functions *functions)
{
	const struct profile_tree *tree = sum->tree;
	size_t count = tree->locations.items.count;
	bool *found = calloc(count + 1, sizeof(*found));
	int err = location_names_find(&tree->locations, functions->inlined,
				      &sum->names);

	if (!err)
		sum->number = calloc(sum->names.first[count] + 1,
				     sizeof(*sum->number));
	if (!found || !sum->number)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < tree->nodes.count; i++) {
		const struct node *node = node_at(tree, i);

		if (!is_stack_node(tree, i))
			continue;
		for (; node->parent && !err;
		     node = node_at(tree, node->parent - 1)) {
			if (!found[node->what])
				err = find_location_numbers(sum, node->what,
							    functions->table);
			found[node->what] = true;
		}
	}
	free(found);
	return err;
}

static void add_function_times(struct function_times *times,
			       const int64_t *value)
{
	const int64_t *given = &value[TIME_GIVEN];

	times->samples += (uint64_t)MAX(value[TIME_SAMPLES], 0);
	times->on_cpu_ns += (uint64_t)MAX(given[TIME_ON_CPU], 0);
	times->runnable_ns += (uint64_t)MAX(given[TIME_RUNNABLE], 0);
	times->blocked_ns += (uint64_t)MAX(given[TIME_BLOCKED], 0);
}

/* Adds the values of node @i to the innermost function of its stack, and to the
 * totals of all functions of the stack, once each. */
static void sum_node(struct summing *sum, uint32_t i)
{
	const struct node *node = node_at(sum->tree, i);
	const int64_t *value = node->value;

	add_function_times(
		&sum->self[sum->number[sum->names.first[node->what]]], value);
	for (; node->parent; node = node_at(sum->tree, node->parent - 1)) {
		size_t k = sum->names.first[node->what];

		for (; k < sum->names.first[node->what + 1]; k++) {
			uint32_t number = sum->number[k];

			if (sum->seen[number] == i + 1)
				continue;
			sum->seen[number] = i + 1;
			add_function_times(&sum->total[number], value);
		}
	}
}

int time_profile_sum(const struct stack_profile *times,
		     const struct time_functions *functions, uint64_t period_ns)
{
	struct summing sum = { .tree = &times->tree };
	int err = find_numbers(&sum, functions);
	size_t count = function_table_count(functions->table) + 1;

	sum.self = calloc(count, sizeof(*sum.self));
	sum.total = calloc(count, sizeof(*sum.total));
	sum.seen = calloc(count, sizeof(*sum.seen));
	if (!sum.self || !sum.total || !sum.seen)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < sum.tree->nodes.count; i++)
		if (is_stack_node(sum.tree, i))
			sum_node(&sum, i);
	if (!err)
		function_table_set_times(functions->table, sum.self, sum.total,
					 period_ns);
	location_names_release(&sum.names);
	free(sum.number);
	free(sum.self);
	free(sum.total);
	free(sum.seen);
	return err;
}

/* --- transfer to the profiles of calls ----------------------------------- */

static void convert_to_wall(const int64_t *value, int64_t *out)
{
	memcpy(&out[WALL_OWN], &value[TIME_GIVEN], 3 * sizeof(*out));
}

static void convert_to_span(const int64_t *value, int64_t *out)
{
	memcpy(&out[SPAN_OWN], &value[TIME_GIVEN], 3 * sizeof(*out));
}

int time_profile_give(const struct stack_profile *times,
		      struct stack_profile *profile)
{
	const struct profile_tree *from = &times->tree;
	bool is_span = profile->kind == &stack_profile_span;
	struct transfer transfer = { .convert = is_span ? convert_to_span
							: convert_to_wall };
	int err;

	profile->timed = true;
	profile_tree_begin_times(&profile->tree);
	err = transfer_begin(&transfer, &profile->tree, from);
	for (size_t i = 0; i < from->nodes.count && !err; i++)
		transfer_values(&transfer, i, i);
	transfer_release(&transfer);
	return err;
}
