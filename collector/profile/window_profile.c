/* SPDX-License-Identifier: Apache-2.0
 *
 * window_profile - a tree whose nodes have three times as many values as their
 * kind: current sums, the kept part of these, and the window.
 */
#include "collector/profile/window_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/output/comments.h"
#include "collector/profile/profile_tree_inner.h"
#include "collector/profile/stack_profile_inner.h"
#include "collector/profile/stacks.h"
#include "shared/compiler.h"

#define NOT_THERE UINT32_MAX

/* Parts of a node's values; each has one value for each type. */
enum part { NOW, KEPT, WINDOW, PARTS };

static const struct out_value_type cpu_types[] = { { "samples", "count" },
						   { "cpu", "nanoseconds" } };
static const struct out_value_type wall_types[] = { { "wall", "nanoseconds" } };
static const struct out_value_type memory_types[] = {
	{ "alloc_objects", "count" },
	{ "alloc_space", "bytes" },
	{ "inuse_objects", "count" },
	{ "inuse_space", "bytes" },
};
static const struct out_value_type off_cpu_types[] = { { "off_cpu",
							 "nanoseconds" } };
static const struct out_value_type delay_types[] = {
	{ "contentions", "count" }, { "delay", "nanoseconds" }
};

const struct window_view window_view_cpu = {
	.kind = &stack_profile_cpu,
	.head = { .types = cpu_types,
		  .count = ARRAY_SIZE(cpu_types),
		  .default_type = 1,
		  .period_type = { "cpu", "nanoseconds" } },
	.column = { 0, 1 },
};

const struct window_view window_view_wall = {
	.kind = &stack_profile_wall,
	.head = { .types = wall_types,
		  .count = ARRAY_SIZE(wall_types),
		  .period_type = { "wall", "nanoseconds" } },
	.column = { 1 },
};

const struct window_view window_view_memory = {
	.kind = &stack_profile_heap,
	.head = { .types = memory_types,
		  .count = ARRAY_SIZE(memory_types),
		  .default_type = 3,
		  .period_type = { "space", "bytes" } },
	.column = { 0, 1, 2, 3 },
};

const struct window_view window_view_allocs = {
	.kind = &stack_profile_heap,
	.head = { .types = memory_types,
		  .count = ARRAY_SIZE(memory_types),
		  .default_type = 1,
		  .period_type = { "space", "bytes" } },
	.column = { 0, 1, 2, 3 },
};

/* Without a period, as Pyroscope requires it. */
const struct window_view window_view_off_cpu = {
	.kind = &stack_profile_offcpu,
	.head = { .types = off_cpu_types,
		  .count = ARRAY_SIZE(off_cpu_types),
		  .period_type = { "", "" } },
	.column = { 1 },
};

#define DELAY_VIEW                                             \
	.kind = &stack_profile_offcpu,                         \
	.head = { .types = delay_types,                        \
		  .count = ARRAY_SIZE(delay_types),            \
		  .default_type = 1,                           \
		  .period_type = { "contentions", "count" } }, \
	.column = { 0, 1 }

const struct window_view window_view_mutex = { DELAY_VIEW,
					       .part = WINDOW_LOCKS };
const struct window_view window_view_block = { DELAY_VIEW,
					       .part = WINDOW_OTHER_WAITS };

int window_profile_new(const struct stack_profile_kind *kind,
		       struct symbol_cache *cache, struct budget *budget,
		       struct stack_profile **out)
{
	struct stack_profile *window = calloc(1, sizeof(*window));
	int err;

	if (!window)
		return -ENOMEM;
	window->kind = kind;
	window->windowed = true;
	profile_tree_init(&window->tree, cache, budget, PARTS * kind->count,
			  NULL);
	err = locations_mark(&window->tree.locations,
			     stacks_frame_name(FRAME_OTHER), &window->other);
	if (err)
		stack_profile_free(&window);
	else
		*out = window;
	return err;
}

/* Returns the values of node @i; the last index is for values without node. */
static int64_t *values_at(const struct stack_profile *window, size_t i)
{
	const struct profile_tree *tree = &window->tree;

	return i < tree->nodes.count ? node_at(tree, i)->value
				     : (int64_t *)tree->lost;
}

static size_t count_values(const struct stack_profile *window)
{
	return window->tree.nodes.count + 1;
}

void window_profile_begin(struct stack_profile *window)
{
	size_t count = window->kind->count;

	for (size_t i = 0; i < count_values(window); i++)
		memset(values_at(window, i), 0, count * sizeof(int64_t));
}

static bool has_values(const int64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i])
			return true;
	return false;
}

/* --- adding -------------------------------------------------------------- */

/* Finds the root in @window for the root @node of @from. @program becomes its
 * only label; "": it keeps the ids of its request. Returns 0 or -ENOMEM. */
static int find_root(struct stack_profile *window,
		     const struct stack_profile *from, const struct node *node,
		     const char *program, uint32_t *out)
{
	const struct owner *of = owner_at(&from->tree, node->what);
	struct profile_owner owner = { .pid = 0 };
	struct tree_place root;
	int err;

	snprintf(owner.process, sizeof(owner.process), "%s", program);
	if (!*program) {
		owner.trace_id = of->trace_id;
		owner.span_id = of->span_id;
	}
	err = profile_tree_root(&window->tree, &owner, &root);
	*out = root.node;
	return err;
}

/* Sets @out to the values of @from at @value, as in a file. Returns false if
 * all are 0. */
static bool values_of(const struct stack_profile *from, const int64_t *value,
		      int64_t out[OUT_VALUES_MAX])
{
	size_t count = from->kind->count;

	if (!from->windowed)
		return profile_tree_values(&from->tree, value, &from->costs,
					   out);
	memcpy(out, &value[WINDOW * count], count * sizeof(*value));
	return has_values(out, count);
}

static int add_nodes(struct stack_profile *window,
		     const struct stack_profile *from, const char *program,
		     const uint32_t *location, uint32_t *place)
{
	int first_err = 0, err;

	for (size_t i = 0; i < from->tree.nodes.count; i++) {
		const struct node *node = node_at(&from->tree, i);
		int64_t value[OUT_VALUES_MAX] = { 0 };

		if (!node->parent)
			err = find_root(window, from, node, program, &place[i]);
		else if (place[node->parent - 1] == NOT_THERE)
			err = -ENOMEM;
		else
			err = profile_tree_node(
				&window->tree, place[node->parent - 1] + 1,
				location[node->what], &place[i]);
		if (err)
			place[i] = NOT_THERE;
		first_err = first_err ? first_err : err;
		if (!node->parent || !values_of(from, node->value, value))
			continue;
		if (err)
			profile_tree_lose(&window->tree, value);
		else
			profile_tree_add_values(
				&window->tree,
				node_at(&window->tree, place[i])->value, value);
	}
	return first_err;
}

int window_profile_add(struct stack_profile *window,
		       const struct stack_profile *from, const char *program)
{
	const struct profile_tree *tree = &from->tree;
	uint32_t *location =
		calloc(tree->locations.items.count + 1, sizeof(*location));
	uint32_t *place = calloc(tree->nodes.count + 1, sizeof(*place));
	int64_t lost[OUT_VALUES_MAX] = { 0 };
	int err = location && place ? 0 : -ENOMEM;

	if (!err)
		err = locations_merge(&window->tree.locations, &tree->locations,
				      location);
	if (!err)
		err = add_nodes(window, from, program ? program : "", location,
				place);
	if (from->kind->keeps_lost && values_of(from, tree->lost, lost))
		profile_tree_lose(&window->tree, lost);
	free(location);
	free(place);
	return err;
}

/* --- the window ---------------------------------------------------------- */

/* Returns true if value @type describes a moment, not a time span. */
static bool is_moment(const struct stack_profile *window, size_t type)
{
	return window->kind->moments >> type & 1;
}

static int64_t growth_of(const struct stack_profile *window, size_t i,
			 size_t type)
{
	const int64_t *value = &values_at(window, i)[type];
	size_t count = window->kind->count;

	return value[NOW * count] - value[KEPT * count];
}

/* Sets value @type of the window. If some sums decreased, subtracts that from
 * the growing sums in proportion, so the total is right. */
static void take_growth(struct stack_profile *window, size_t type)
{
	size_t count = window->kind->count;
	__int128 grown = 0, shrunk = 0, left, seen = 0, told = 0;

	for (size_t i = 0; i < count_values(window); i++) {
		int64_t more = growth_of(window, i, type);

		*(more > 0 ? &grown : &shrunk) += more;
	}
	left = MAX(grown + shrunk, (__int128)0);
	for (size_t i = 0; i < count_values(window); i++) {
		int64_t *value = &values_at(window, i)[type];
		int64_t more = MAX(growth_of(window, i, type), 0);

		if (shrunk) {
			seen += more;
			more = grown ? (int64_t)(seen * left / grown - told)
				     : 0;
			told += more;
		}
		value[WINDOW * count] = more;
	}
}

/* Moments are only kept by window_profile_start(). */
static void take_moment(struct stack_profile *window, size_t type)
{
	size_t count = window->kind->count;

	for (size_t i = 0; i < count_values(window); i++) {
		int64_t *value = &values_at(window, i)[type];

		value[WINDOW * count] = growth_of(window, i, type);
	}
}

bool window_profile_end(struct stack_profile *window)
{
	size_t count = window->kind->count;
	bool any = false;

	for (size_t type = 0; type < count; type++)
		if (is_moment(window, type))
			take_moment(window, type);
		else
			take_growth(window, type);
	for (size_t i = 0; i < count_values(window) && !any; i++)
		any = has_values(&values_at(window, i)[WINDOW * count], count);
	return any;
}

static void keep_values(struct stack_profile *window, bool moments)
{
	size_t count = window->kind->count;

	for (size_t i = 0; i < count_values(window); i++) {
		int64_t *value = values_at(window, i);

		for (size_t type = 0; type < count; type++)
			if (moments || !is_moment(window, type))
				value[KEPT * count + type] +=
					value[WINDOW * count + type];
	}
}

void window_profile_keep(struct stack_profile *window)
{
	keep_values(window, false);
}

void window_profile_start(struct stack_profile *window)
{
	keep_values(window, true);
}

/* --- writing ------------------------------------------------------------- */

/* Names as in samples/wait_futex.c, such as "[rwlock app+0x4080]". */
static bool is_lock(const char *object)
{
	static const char *const kinds[] = { "mutex", "rwlock", "condition" };
	size_t length = strcspn(object, " ]");

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (object[0] == '[' && length == strlen(kinds[i]) + 1 &&
		    !strncmp(object + 1, kinds[i], length - 1))
			return true;
	return false;
}

/* Sets @out to the values of node @i (see values_at()) in a file by @view.
 * Returns false if the file lacks the node. */
static bool view_values(const struct stack_profile *window,
			const struct window_view *view, size_t i,
			int64_t out[WINDOW_COLUMNS_MAX])
{
	const struct profile_tree *tree = &window->tree;
	const int64_t *value =
		&values_at(window, i)[WINDOW * window->kind->count];
	const char *name = "", *module;

	for (size_t k = 0; k < view->head.count; k++)
		out[k] = value[view->column[k]];
	if (!has_values(out, view->head.count))
		return false;
	if (i < tree->nodes.count)
		locations_name(&tree->locations, node_at(tree, i)->what, &name,
			       &module);
	return view->part == WINDOW_ALL ||
	       is_lock(name) == (view->part == WINDOW_LOCKS);
}

bool window_profile_has(const struct stack_profile *window,
			const struct window_view *view)
{
	int64_t values[WINDOW_COLUMNS_MAX];

	for (size_t i = 0; i < count_values(window); i++)
		if (view_values(window, view, i, values))
			return true;
	return false;
}

/* Sets @stack to the locations of node @i, innermost first, and *@owner to its
 * owner, or NULL. Returns the number of locations. */
static size_t stack_at(const struct stack_profile *window, size_t i,
		       uint64_t stack[PROFILE_DEPTH_MAX + 1],
		       const struct owner **owner)
{
	const struct profile_tree *tree = &window->tree;
	const struct node *node;
	size_t depth = 0;

	*owner = NULL;
	if (i == tree->nodes.count) {
		stack[0] = window->other + 1ULL;
		return 1;
	}
	for (node = node_at(tree, i); node->parent;
	     node = node_at(tree, node->parent - 1))
		stack[depth++] = node->what + 1ULL;
	*owner = owner_at(tree, node->what);
	return depth;
}

static bool *find_used(const struct stack_profile *window,
		       const struct window_view *view)
{
	bool *used = calloc(window->tree.locations.items.count + 1, 1);
	uint64_t stack[PROFILE_DEPTH_MAX + 1];
	int64_t values[WINDOW_COLUMNS_MAX];
	const struct owner *owner;

	for (size_t i = 0; used && i < count_values(window); i++) {
		size_t depth;

		if (!view_values(window, view, i, values))
			continue;
		depth = stack_at(window, i, stack, &owner);
		while (depth)
			used[stack[--depth] - 1] = true;
	}
	return used;
}

static void write_sample(const struct stack_profile *window, size_t i,
			 const int64_t *values, struct out_pprof *out)
{
	uint64_t stack[PROFILE_DEPTH_MAX + 1];
	struct out_labels labels = { .program = NULL };
	const struct owner *owner;
	size_t depth = stack_at(window, i, stack, &owner);

	if (owner && owner->process[0])
		labels.program = owner->process;
	else if (owner && owner->trace_id)
		labels = (struct out_labels){ .trace_id = owner->trace_id,
					      .span_id = owner->span_id };
	out_pprof_sample(out, stack, depth, values,
			 labels.program || labels.trace_id ? &labels : NULL);
}

static struct out_head make_head(const struct window_view *view,
				 const struct stack_profile_header *header)
{
	struct out_head head = view->head;

	head.period = header->period;
	return head;
}

static int write_and_close(const struct stack_profile *window,
			   const struct window_view *view,
			   const struct stack_profile_header *header,
			   struct out_pprof *out)
{
	bool *used = find_used(window, view);
	int64_t values[WINDOW_COLUMNS_MAX];
	int err = -ENOMEM;

	if (used)
		err = locations_write(&window->tree.locations, header->program,
				      used, out);
	for (size_t i = 0; !err && i < count_values(window); i++)
		if (view_values(window, view, i, values))
			write_sample(window, i, values, out);
	free(used);
	return out_pprof_close(
		&out, err,
		&(struct out_profile_end){
			.time_ns = header->start_ns,
			.duration_ns = header->duration_ns,
			.comments =
				&(const char *){ "perfrec " PERFREC_VERSION },
			.comment_count = 1 });
}

int window_profile_write(const struct stack_profile *window,
			 const struct window_view *view,
			 const struct stack_profile_header *header, int dir_fd,
			 const char *name)
{
	const struct out_head head = make_head(view, header);
	struct out_pprof *out;
	int err = out_pprof_new(dir_fd, name, &head, &out);

	return err ? err : write_and_close(window, view, header, out);
}

int window_profile_pack(const struct stack_profile *window,
			const struct window_view *view,
			const struct stack_profile_header *header,
			struct bytes *to)
{
	const struct out_head head = make_head(view, header);
	struct out_pprof *out;
	int err = out_pprof_new_in(to, &head, &out);

	return err ? err : write_and_close(window, view, header, out);
}
