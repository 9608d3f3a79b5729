/* SPDX-License-Identifier: Apache-2.0
 *
 * A stack of a profile has an amount (page_amount) and, if the trace has the
 * same stack, cells. The amount is distributed over these cells in proportion
 * to their values. The sum is exactly the amount.
 */
#include "collector/page/page_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/read/summary_read.h"
#include "collector/show/short_name.h"
#include "shared/compiler.h"

/* With fewer nodes, no node is too small. */
#define NODES_FEW 2000
/* Limit for a function: the number of quarter octaves. */
#define BARS_MAX 256

struct tree {
	const struct page_data *data;
	uint32_t per_ten_thousand;
	bool *kept; /* by node of data */
	uint32_t *number; /* by node of data: number in the page */
	/* By node of the page + 1: its child for function 0, + 1; or 0. */
	uint32_t *rest;
	struct page_node *nodes;
	uint32_t count, room, rest_room;
};

/* --- selection of nodes --- */

static int keep_of_value(struct tree *tree, const struct page_value *value,
			 enum page_side side)
{
	const struct page_data *data = tree->data;
	uint64_t *total = calloc(data->nodes.count + 1, sizeof(*total));
	uint64_t least = (uint64_t)((double)value->sum[side] *
				    tree->per_ten_thousand / 10000);

	if (!total)
		return -ENOMEM;
	for (size_t i = 0; i < value->count; i++)
		if (value->amounts[i].side == side)
			total[value->amounts[i].node] +=
				value->amounts[i].amount;
	/* Parents come first. */
	for (uint32_t i = data->nodes.count; i-- > 0;) {
		uint32_t parent = page_data_node_at(data, i)->parent;

		if (parent)
			total[parent - 1] += total[i];
	}
	for (uint32_t i = 0; i < data->nodes.count; i++)
		tree->kept[i] |= total[i] && total[i] >= least;
	free(total);
	return 0;
}

/* --- numbers of nodes --- */

static int add_tree_node(struct tree *tree, uint32_t parent, uint32_t function,
			 uint32_t *out)
{
	uint32_t known = tree->rest_room;

	if (grow_array(tree->nodes, tree->room, tree->count + 1) ||
	    grow_array(tree->rest, tree->rest_room, tree->count + 2))
		return -ENOMEM;
	for (; known < tree->rest_room; known++)
		tree->rest[known] = 0;
	tree->nodes[tree->count] = (struct page_node){ parent, function };
	*out = tree->count++;
	return 0;
}

static int find_rest(struct tree *tree, uint32_t parent, uint32_t *out)
{
	int err = 0;

	if (parent < tree->rest_room && tree->rest[parent]) {
		*out = tree->rest[parent] - 1;
		return 0;
	}
	err = add_tree_node(tree, parent, 0, out);
	if (!err)
		tree->rest[parent] = *out + 1;
	return err;
}

static int number_nodes(struct tree *tree)
{
	const struct page_data *data = tree->data;
	int err = 0;

	for (uint32_t i = 0; i < data->nodes.count && !err; i++) {
		const struct page_node *node = page_data_node_at(data, i);
		uint32_t above = node->parent;
		uint32_t parent = above ? tree->number[above - 1] + 1 : 0;

		if (tree->kept[i])
			err = add_tree_node(tree, parent, node->function,
					    &tree->number[i]);
		else if (above && !tree->kept[above - 1])
			tree->number[i] = tree->number[above - 1];
		else
			err = find_rest(tree, parent, &tree->number[i]);
	}
	return err;
}

/* --- amounts over time --- */

struct entry {
	uint32_t bucket, thread, node;
	uint64_t amount[PAGE_SIDES];
};

struct entries {
	struct entry *list;
	size_t count, room;
};

/* Cells of the trace, sorted by node. The cells of node N are order[first[N]]
 * to order[first[N + 1] - 1]. */
struct by_leaf {
	uint32_t *order, *first;
};

static int sort_by_leaf(const struct calls *calls, struct by_leaf *out)
{
	const struct time_cells *cells = &calls->cells;
	uint32_t nodes = calls->tree.nodes.count;

	out->order = calloc(cells->count + 1, sizeof(*out->order));
	out->first = calloc((size_t)nodes + 2, sizeof(*out->first));
	if (!out->order || !out->first)
		return -ENOMEM;
	for (uint32_t i = 0; i < cells->count; i++)
		out->first[time_cells_node(&cells->cells[i]) + 2]++;
	for (uint32_t i = 2; i < nodes + 2; i++)
		out->first[i] += out->first[i - 1];
	/* first[N + 1] moves from the start of N to its end. */
	for (uint32_t i = 0; i < cells->count; i++)
		out->order[out->first[time_cells_node(&cells->cells[i]) +
				      1]++] = i;
	return 0;
}

static uint64_t cell_weight(const struct time_cell *cell, enum page_key key)
{
	return key == PAGE_WALL	   ? cell->ns
	       : key == PAGE_CALLS ? cell->calls
				   : cell->samples;
}

static int add_tree_entry(struct entries *entries, const struct entry *entry)
{
	if (grow_array(entries->list, entries->room, entries->count + 1))
		return -ENOMEM;
	entries->list[entries->count++] = *entry;
	return 0;
}

/* Distributes @amount of a node of the page over the cells of its stack.
 * Returns 0 if there are none, 1, or -ENOMEM. */
static int spread_amount(const struct tree *tree, const struct by_leaf *by_leaf,
			 enum page_key key, const struct page_amount *amount,
			 struct entries *entries)
{
	const struct time_cells *cells = &tree->data->calls->cells;
	uint32_t first = by_leaf->first[amount->leaf];
	uint32_t end = by_leaf->first[amount->leaf + 1];
	uint64_t sum = 0, before = 0, done = 0;

	for (uint32_t i = first; i < end; i++)
		sum += cell_weight(&cells->cells[by_leaf->order[i]], key);
	for (uint32_t i = first; i < end && sum; i++) {
		const struct time_cell *cell = &cells->cells[by_leaf->order[i]];
		struct entry entry = { time_cells_bucket(cells, cell),
				       time_cells_thread(cell),
				       amount->node,
				       { 0 } };
		uint64_t to;

		before += cell_weight(cell, key);
		to = (uint64_t)((unsigned __int128)amount->amount * before /
				sum);
		entry.amount[PAGE_SELF] = to - done;
		done = to;
		if (entry.amount[PAGE_SELF] && add_tree_entry(entries, &entry))
			return -ENOMEM;
	}
	return sum > 0;
}

static int compare_tree_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void merge_entries(struct entries *entries)
{
	size_t kept = 0;

	if (!entries->count)
		return;
	qsort(entries->list, entries->count, sizeof(*entries->list),
	      compare_tree_entries);
	for (size_t i = 0; i < entries->count; i++) {
		struct entry *to = &entries->list[kept ? kept - 1 : 0];

		if (kept && !compare_tree_entries(to, &entries->list[i])) {
			for (int side = 0; side < PAGE_SIDES; side++)
				to->amount[side] +=
					entries->list[i].amount[side];
		} else {
			entries->list[kept++] = entries->list[i];
		}
	}
	entries->count = kept;
}

static uint32_t part_of_entry(const struct entry *entry, bool by_thread)
{
	return by_thread ? entry->thread : entry->bucket;
}

struct part_amount {
	uint32_t node;
	uint64_t amount;
};

/* Writes the amounts of the entries to @out, by their parts. Those of part N are
 * out[first[N]] to out[first[N + 1] - 1]. */
static void order_by_part(const struct entries *entries, bool by_thread,
			  uint32_t parts, struct part_amount *out,
			  size_t *first)
{
	memset(first, 0, (parts + 2ULL) * sizeof(*first));
	for (size_t i = 0; i < entries->count; i++)
		first[part_of_entry(&entries->list[i], by_thread) + 2]++;
	for (uint32_t i = 2; i < parts + 2; i++)
		first[i] += first[i - 1];
	/* first[N + 1] moves from the start of N to its end. */
	for (size_t i = 0; i < entries->count; i++) {
		const struct entry *entry = &entries->list[i];

		out[first[part_of_entry(entry, by_thread) + 1]++] =
			(struct part_amount){ entry->node,
					      entry->amount[PAGE_SELF] };
	}
}

/* Keeps the nodes that are not too small in the part with the amounts
 * [@from, @to). @total has a zero for each node, and has so afterwards. */
static void keep_of_part(struct tree *tree, const struct part_amount *from,
			 const struct part_amount *to, uint64_t *total)
{
	const struct page_data *data = tree->data;
	uint64_t sum = 0, least;

	for (const struct part_amount *one = from; one < to; one++) {
		sum += one->amount;
		for (uint32_t at = one->node + 1; at;
		     at = page_data_node_at(data, at - 1)->parent)
			total[at - 1] += one->amount;
	}
	least = (uint64_t)((double)sum * tree->per_ten_thousand / 10000);
	for (const struct part_amount *one = from; one < to; one++) {
		for (uint32_t at = one->node + 1; at && total[at - 1];
		     at = page_data_node_at(data, at - 1)->parent) {
			tree->kept[at - 1] |= total[at - 1] >= least;
			total[at - 1] = 0;
		}
	}
}

static int keep_of_entries(struct tree *tree, const struct entries *entries,
			   uint64_t *total)
{
	const struct calls *calls = tree->data->calls;
	const uint32_t parts[] = { time_cells_buckets(&calls->cells),
				   calls->tree.thread_count };
	struct part_amount *amounts =
		calloc(entries->count + 1, sizeof(*amounts));
	size_t *first = calloc(MAX(parts[0], parts[1]) + 2ULL, sizeof(*first));
	bool fits = amounts && first;

	for (int by_thread = 0; by_thread < 2 && fits; by_thread++) {
		order_by_part(entries, by_thread, parts[by_thread], amounts,
			      first);
		for (uint32_t i = 0; i < parts[by_thread]; i++)
			keep_of_part(tree, &amounts[first[i]],
				     &amounts[first[i + 1]], total);
	}
	free(amounts);
	free(first);
	return fits ? 0 : -ENOMEM;
}

/* Keeps nodes that are large in a bucket or a thread. A node with a share of a
 * range has at least this share of one of its buckets. */
static int keep_of_parts(struct tree *tree, const struct by_leaf *by_leaf,
			 enum page_key key)
{
	const struct page_data *data = tree->data;
	const struct page_value *value = &data->value[key];
	uint64_t *total = calloc(data->nodes.count + 1, sizeof(*total));
	struct entries entries = { 0 };
	int err = total ? 0 : -ENOMEM;

	for (size_t i = 0; i < value->count && err >= 0; i++) {
		struct page_amount amount = value->amounts[i];

		if (amount.leaf)
			amount.leaf = calls_cells_of(data->calls, amount.leaf);
		if (amount.leaf)
			err = spread_amount(tree, by_leaf, key, &amount,
					    &entries);
	}
	if (err >= 0)
		err = keep_of_entries(tree, &entries, total);
	free(entries.list);
	free(total);
	return MIN(err, 0);
}

static int make_tree(struct tree *tree, const struct by_leaf *by_leaf)
{
	uint32_t count = tree->data->nodes.count;
	const struct page_data *data = tree->data;
	int err = 0;

	tree->kept = calloc(count + 1, sizeof(*tree->kept));
	tree->number = calloc(count + 1, sizeof(*tree->number));
	if (!tree->kept || !tree->number)
		return -ENOMEM;
	if (data->nodes.count < NODES_FEW)
		tree->per_ten_thousand = 0;
	for (int key = 0; key < PAGE_KEYS && !err; key++)
		for (int side = 0; side < PAGE_SIDES && !err; side++)
			if (data->value[key].sum[side])
				err = keep_of_value(tree, &data->value[key],
						    (enum page_side)side);
	for (int key = 0; key < PAGE_KEYS && !err; key++)
		if (by_leaf->first && tree->per_ten_thousand &&
		    page_tree_is_timed(data, (enum page_key)key))
			err = keep_of_parts(tree, by_leaf, (enum page_key)key);
	return err ? err : number_nodes(tree);
}

/* --- columns --- */

static void put_entries(const struct entries *entries, enum page_key key,
			bool timed, bool compares, struct page_columns *columns)
{
	const char *name = page_keys[key].key;

	if (timed) {
		PAGE_COLUMN(columns, i, entries->count, entries->list[i].bucket,
			    "d", "value.%s.bucket", name);
		PAGE_COLUMN(columns, i, entries->count, entries->list[i].thread,
			    "u", "value.%s.thread", name);
	}
	PAGE_COLUMN(columns, i, entries->count, entries->list[i].node, "d",
		    "value.%s.node", name);
	for (int side = 0; side < (compares ? 2 : 1); side++) {
		PAGE_COLUMN(columns, i, entries->count,
			    entries->list[i].amount[side], "u", "value.%s.%s",
			    name, side == PAGE_BASE ? "base" : "self");
	}
}

bool page_tree_is_timed(const struct page_data *data, enum page_key key)
{
	/* With sampled times, only calls and CPU samples have times. */
	if (data->sampled && key != PAGE_CALLS && key != PAGE_CPU)
		return false;
	/* The index has no samples. */
	return data->calls && key <= PAGE_CPU &&
	       (key != PAGE_CPU || !data->calls->by_index);
}

static int put_tree_overview(const struct tree *tree,
			     const struct entries *entries, enum page_key key,
			     struct page_columns *columns)
{
	uint32_t buckets = time_cells_buckets(&tree->data->calls->cells);
	uint64_t *sum = calloc((size_t)buckets + 1, sizeof(*sum));

	if (!sum)
		return -ENOMEM;
	/* The last bucket is for unknown times. */
	for (size_t i = 0; i < entries->count; i++)
		sum[entries->list[i].bucket] +=
			entries->list[i].amount[PAGE_SELF];
	PAGE_COLUMN(columns, i, buckets, sum[i], "u", "overview.%s",
		    page_keys[key].key);
	free(sum);
	return 0;
}

static int compare_amounts(const void *a, const void *b)
{
	const struct page_amount *x = a, *y = b;

	if (x->leaf != y->leaf)
		return x->leaf < y->leaf ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->side < y->side ? -1 : x->side > y->side;
}

/* Returns the amounts of the page's nodes for the caller to free, *@count of
 * them, or NULL without memory. Merges stacks with equal nodes and cells. */
static struct page_amount *fold_amounts(const struct tree *tree,
					enum page_key key, size_t *count)
{
	const struct page_value *value = &tree->data->value[key];
	struct page_amount *list = calloc(value->count + 1, sizeof(*list));
	size_t kept = 0;

	for (size_t i = 0; i < value->count && list; i++) {
		list[i] = value->amounts[i];
		list[i].node = tree->number[list[i].node];
		list[i].leaf = list[i].leaf ? calls_cells_of(tree->data->calls,
							     list[i].leaf)
					    : 0;
	}
	if (list)
		qsort(list, value->count, sizeof(*list), compare_amounts);
	for (size_t i = 0; i < value->count && list; i++) {
		struct page_amount *to = &list[kept ? kept - 1 : 0];

		if (kept && !compare_amounts(to, &list[i]))
			to->amount += list[i].amount;
		else
			list[kept++] = list[i];
	}
	*count = kept;
	return list;
}

static int put_tree_value(const struct tree *tree,
			  const struct by_leaf *by_leaf, enum page_key key,
			  struct page_columns *columns)
{
	bool timed = page_tree_is_timed(tree->data, key);
	struct entries entries = { 0 };
	size_t count;
	struct page_amount *amounts = fold_amounts(tree, key, &count);
	int err = amounts ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && err >= 0; i++) {
		const struct page_amount *amount = &amounts[i];
		struct entry entry = { .node = amount->node };

		err = timed && amount->leaf && by_leaf->first
			      ? spread_amount(tree, by_leaf, key, amount,
					      &entries)
			      : 0;
		if (err)
			continue;
		if (timed)
			entry.bucket =
				time_cells_buckets(&tree->data->calls->cells);
		entry.amount[amount->side] = amount->amount;
		err = add_tree_entry(&entries, &entry);
	}
	if (err >= 0) {
		merge_entries(&entries);
		put_entries(&entries, key, timed, tree->data->compares,
			    columns);
		err = timed ? put_tree_overview(tree, &entries, key, columns)
			    : 0;
	}
	free(entries.list);
	free(amounts);
	return MIN(err, 0);
}

int page_tree_put(const struct page_data *data, uint32_t per_ten_thousand,
		  struct page_columns *columns)
{
	struct tree tree = { .data = data,
			     .per_ten_thousand = per_ten_thousand };
	struct by_leaf by_leaf = { 0 };
	int err = data->calls ? sort_by_leaf(data->calls, &by_leaf) : 0;

	if (!err)
		err = make_tree(&tree, &by_leaf);
	if (!err) {
		PAGE_COLUMN(columns, i, tree.count, tree.nodes[i].parent, "u",
			    "node.parent");
		PAGE_COLUMN(columns, i, tree.count, tree.nodes[i].function, "u",
			    "node.function");
	}
	for (int key = 0; key < PAGE_KEYS && !err; key++)
		if (data->value[key].known)
			err = put_tree_value(&tree, &by_leaf,
					     (enum page_key)key, columns);
	free(by_leaf.order);
	free(by_leaf.first);
	free(tree.kept);
	free(tree.number);
	free(tree.rest);
	free(tree.nodes);
	return err;
}

/* --- functions --- */

static const struct page_sums *sums_at(const struct page_value *value,
				       uint32_t function)
{
	static const struct page_sums none;

	return function < value->sum_room ? &value->sums[function] : &none;
}

static void put_sums(const struct page_data *data, enum page_key key,
		     struct page_columns *columns)
{
	const struct page_value *value = &data->value[key];
	const char *name = page_keys[key].key;

	for (int side = 0; side < (data->compares ? 2 : 1); side++) {
		const char *prefix = side == PAGE_BASE ? "base_" : "";

		PAGE_COLUMN(columns, i, data->functions.count,
			    sums_at(value, i)->self[side], "u",
			    "function.%s.%sself", name, prefix);
		PAGE_COLUMN(columns, i, data->functions.count,
			    sums_at(value, i)->total[side], "u",
			    "function.%s.%stotal", name, prefix);
	}
}

static void put_member(const struct page_data *data, const char *name,
		       size_t offset, struct page_columns *columns)
{
	PAGE_COLUMN(columns, i, data->functions.count,
		    *(const uint32_t *)((const char *)page_data_function_at(
						data, i) +
					offset),
		    "u", "function.%s", name);
}

static const struct summary_function *single_at(const struct page_data *data,
						uint32_t function)
{
	const struct summary_function *single =
		page_data_function_at(data, function)->single;

	return single && single->max_ns != COUNTER_UNKNOWN ? single : NULL;
}

/* Writes the time at @offset of each function, plus 1; 0: unknown. */
static void put_single(const struct page_data *data, const char *name,
		       size_t offset, struct page_columns *columns)
{
	page_columns_begin(columns, "u", "function.%s", name);
	for (uint32_t i = 0; i < data->functions.count; i++) {
		const struct summary_function *single = single_at(data, i);
		uint64_t ns = 0;

		if (single)
			memcpy(&ns, (const char *)single + offset, sizeof(ns));
		page_columns_put(columns,
				 single ? MIN(ns, PAGE_NUMBER_MAX) + 1 : 0);
	}
}

struct bars {
	struct bar {
		uint64_t low, count;
	} * list;
	size_t count, room;
};

/* Returns the least value in the quarter octave of @ns. */
static uint64_t fourth_of(uint64_t ns)
{
	unsigned int shift = ns < 4 ? 0 : 61 - (unsigned)__builtin_clzll(ns);

	return ns >> shift << shift;
}

/* Adds the bars of the distribution @text (see counters.def), up to its first
 * error. Returns their number, or -ENOMEM. */
static int add_bars(struct bars *bars, const char *text)
{
	size_t first = bars->count;

	while (bars->count - first < BARS_MAX) {
		struct bar bar = { 0 }, *last = NULL;
		char *end;

		bar.low = fourth_of(strtoull(text, &end, 10));
		if (end == text || *end != ':')
			break;
		text = end + 1;
		bar.count = strtoull(text, &end, 10);
		if (end == text)
			break;
		text = end;
		if (bars->count > first)
			last = &bars->list[bars->count - 1];
		if (last && last->low == bar.low) {
			last->count += bar.count;
			continue;
		}
		if (grow_array(bars->list, bars->room, bars->count + 1))
			return -ENOMEM;
		bars->list[bars->count++] = bar;
	}
	return (int)(bars->count - first);
}

static int put_durations(const struct page_data *data,
			 struct page_columns *columns)
{
	struct bars bars = { 0 };
	int count = 0;

	put_single(data, "median", offsetof(struct summary_function, median_ns),
		   columns);
	put_single(data, "p99", offsetof(struct summary_function, p99_ns),
		   columns);
	put_single(data, "max", offsetof(struct summary_function, max_ns),
		   columns);
	page_columns_begin(columns, "u", "function.bars");
	for (uint32_t i = 0; i < data->functions.count && count >= 0; i++) {
		const struct summary_function *single = single_at(data, i);
		const char *text = single ? single->durations : NULL;

		count = text ? add_bars(&bars, text) : 0;
		page_columns_put(columns, (uint64_t)MAX(count, 0));
	}
	PAGE_COLUMN(columns, i, bars.count, bars.list[i].low, "u", "bar.ns");
	PAGE_COLUMN(columns, i, bars.count, bars.list[i].count, "u",
		    "bar.calls");
	free(bars.list);
	return MIN(count, 0);
}

int page_tree_put_functions(struct page_data *data,
			    struct page_columns *columns)
{
	uint32_t count;
	const char **full;
	struct short_names names = { 0 };
	int err;

	put_member(data, "name", offsetof(struct page_function, name), columns);
	put_member(data, "module", offsetof(struct page_function, module),
		   columns);
	put_member(data, "file", offsetof(struct page_function, file), columns);
	put_member(data, "line", offsetof(struct page_function, line), columns);
	PAGE_COLUMN(columns, i, data->functions.count,
		    page_data_function_at(data, i)->recorded, "u",
		    "function.recorded");
	PAGE_COLUMN(columns, i, data->functions.count,
		    page_data_function_at(data, i)->temporary, "u",
		    "function.temporary");
	if (!data->compares && put_durations(data, columns) < 0)
		return -ENOMEM;
	for (int key = 0; key < PAGE_KEYS; key++)
		if (data->value[key].known)
			put_sums(data, (enum page_key)key, columns);
	count = data->functions.count;
	full = calloc(count, sizeof(*full));
	err = full ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < count && !err; i++)
		full[i] = trace_texts_get(&data->texts,
					  page_data_function_at(data, i)->name);
	if (!err)
		err = short_names_make(&names, full, count, false);
	if (!err)
		PAGE_COLUMN(columns, i, count,
			    page_data_text(data, short_names_get(&names, i)),
			    "u", "function.short");
	short_names_free(&names);
	free(full);
	return err;
}
