/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/fit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/pool.h"
#include "shared/compiler.h"
#include "shared/hash.h"

/* 64 bytes each, and their place in the hash table. */
#define NODES_MAX (4u << 20)
#define ROOT UINT32_MAX
/* Marks a node that stands for labels instead of a frame. */
#define LABELS (UINT64_C(1) << 32)

struct node {
	uint64_t frame; /* index into locations; LABELS | index into labels */
	uint64_t parent; /* index of a node, or ROOT */
	uint32_t children;
	bool has_self, is_gone;
	double weight;
};

/* Labels of samples, each set of them once. */
struct label_set {
	const struct pprof_label *at;
	uint32_t count;
};

struct leaf {
	double weight;
	uint32_t node;
};

struct tree {
	const struct pprof *from;
	struct pool nodes, labels;
	int64_t *values; /* type_count for each node, and then for ROOT */
	bool root_has_self;
	double share[PPROF_VALUES_MAX]; /* weight of 1 of each type */
	struct leaf *heap; /* least weight first */
	size_t heap_count;
	uint32_t stacks;
	struct fit_counts *counts;
	bool with_pid;
	struct pprof_label *kept; /* copies of labels without pid and tid */
	size_t kept_count;
};

static struct node *tree_node(const struct tree *tree, uint32_t node)
{
	return (struct node *)tree->nodes.items + node;
}

static int64_t *node_values(const struct tree *tree, uint64_t node)
{
	size_t at = node == ROOT ? tree->nodes.count : node;

	return tree->values + at * tree->from->type_count;
}

/* --- labels -------------------------------------------------------------- */

static uint64_t hash_labels(const void *item)
{
	const struct label_set *set = item;
	uint64_t hash = HASH_START;

	for (uint32_t i = 0; i < set->count; i++) {
		hash = hash_text(hash, set->at[i].key);
		hash = hash_text(hash, set->at[i].text);
		hash = hash_bytes(hash, &set->at[i].number,
				  sizeof(set->at[i].number));
	}
	return hash_fold(hash);
}

static bool is_same_labels(const void *a, const void *b)
{
	const struct label_set *x = a, *y = b;

	if (x->count != y->count)
		return false;
	for (uint32_t i = 0; i < x->count; i++)
		if (strcmp(x->at[i].key, y->at[i].key) ||
		    strcmp(x->at[i].text, y->at[i].text) ||
		    x->at[i].number != y->at[i].number)
			return false;
	return true;
}

static const struct pool_key label_key = { hash_labels, is_same_labels };

/* The labels of @sample that stay: copied behind those of earlier samples. */
static struct label_set keep_labels(struct tree *tree,
				    const struct pprof_sample *sample)
{
	struct label_set set = { tree->kept + tree->kept_count, 0 };

	for (uint32_t i = 0; i < sample->label_count; i++) {
		const struct pprof_label *label = &sample->labels[i];

		if (tree->with_pid ||
		    (strcmp(label->key, "pid") && strcmp(label->key, "tid")))
			tree->kept[tree->kept_count + set.count++] = *label;
	}
	return set;
}

/* --- the tree ------------------------------------------------------------ */

static int add_tree_node(struct tree *tree, uint64_t frame, uint64_t *at)
{
	const struct node node = { .frame = frame, .parent = *at };
	uint32_t number;
	int added = pool_intern(&tree->nodes, &node, &number);

	if (added < 0)
		return added;
	if (number >= NODES_MAX)
		return -EFBIG;
	if (added && *at != ROOT)
		tree_node(tree, (uint32_t)*at)->children++;
	*at = number;
	return 0;
}

static int add_labels(struct tree *tree, const struct pprof_sample *sample,
		      uint64_t *at)
{
	const struct label_set set = keep_labels(tree, sample);
	uint32_t number;
	int added;

	if (!set.count)
		return 0;
	added = pool_intern(&tree->labels, &set, &number);
	if (added < 0)
		return added;
	if (added)
		tree->kept_count += set.count;
	return add_tree_node(tree, LABELS | number, at);
}

static void add_values(struct tree *tree, uint64_t at, const int64_t *values)
{
	int64_t *sum = node_values(tree, at);
	bool *has_self = at == ROOT ? &tree->root_has_self
				    : &tree_node(tree, (uint32_t)at)->has_self;

	tree->stacks += !*has_self;
	*has_self = true;
	for (size_t type = 0; type < tree->from->type_count; type++) {
		double value = (double)values[type];

		/* Unsigned: values of a damaged file may be anything. */
		sum[type] =
			(int64_t)((uint64_t)sum[type] + (uint64_t)values[type]);
		if (at != ROOT)
			tree_node(tree, (uint32_t)at)->weight +=
				(value < 0 ? -value : value) *
				tree->share[type];
	}
}

/* Finds the node of @sample, from its outermost frame inwards. */
static int add_stack(struct tree *tree, const struct pprof_sample *sample,
		     uint64_t *at)
{
	const uint32_t cut = (uint32_t)tree->from->location_count;
	uint32_t outer = sample->depth, inner = 0;
	int err = 0;

	if (sample->depth > FIT_DEPTH_MAX) {
		outer = FIT_DEPTH_MAX / 2;
		inner = FIT_DEPTH_MAX - 1 - outer;
		tree->counts->cut++;
	}
	for (uint32_t i = 0; i < outer && !err; i++)
		err = add_tree_node(tree, sample->stack[sample->depth - 1 - i],
				    at);
	if (inner && !err)
		err = add_tree_node(tree, cut, at);
	for (uint32_t i = inner; i && !err; i--)
		err = add_tree_node(tree, sample->stack[i - 1], at);
	return err;
}

static int grow_tree(struct tree *tree)
{
	const struct pprof *from = tree->from;
	uint64_t *ends = calloc(from->sample_count + 1, sizeof(*ends));
	int err = ends ? 0 : -ENOMEM;

	for (size_t i = 0; i < from->sample_count && !err; i++) {
		ends[i] = ROOT;
		err = add_stack(tree, &from->samples[i], &ends[i]);
		if (!err)
			err = add_labels(tree, &from->samples[i], &ends[i]);
	}
	tree->values = err ? NULL
			   : calloc(((size_t)tree->nodes.count + 1) *
						    from->type_count +
					    1,
				    sizeof(*tree->values));
	if (!err && !tree->values)
		err = -ENOMEM;
	for (size_t i = 0; i < from->sample_count && !err; i++)
		add_values(tree, ends[i], from->samples[i].value);
	free(ends);
	return err;
}

/* --- merging ------------------------------------------------------------- */

static void push_leaf(struct tree *tree, uint32_t node)
{
	const struct leaf leaf = { tree_node(tree, node)->weight, node };
	size_t at = tree->heap_count++;

	for (; at && tree->heap[(at - 1) / 2].weight > leaf.weight;
	     at = (at - 1) / 2)
		tree->heap[at] = tree->heap[(at - 1) / 2];
	tree->heap[at] = leaf;
}

static uint32_t pop_leaf(struct tree *tree)
{
	const uint32_t least = tree->heap[0].node;
	const struct leaf last = tree->heap[--tree->heap_count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < tree->heap_count) {
		if (child + 1 < tree->heap_count &&
		    tree->heap[child + 1].weight < tree->heap[child].weight)
			child++;
		if (tree->heap[child].weight >= last.weight)
			break;
		tree->heap[at] = tree->heap[child];
		at = child;
	}
	tree->heap[at] = last;
	return least;
}

static int merge_leaves(struct tree *tree, uint32_t stacks)
{
	if (tree->stacks <= stacks)
		return 0;
	tree->heap = calloc((size_t)tree->nodes.count + 1, sizeof(*tree->heap));
	if (!tree->heap)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->nodes.count; i++)
		if (!tree_node(tree, i)->children)
			push_leaf(tree, i);
	while (tree->stacks > stacks && tree->heap_count) {
		uint32_t leaf = pop_leaf(tree);
		struct node *node = tree_node(tree, leaf), *parent;

		add_values(tree, node->parent, node_values(tree, leaf));
		/* fit_make() frees it:
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		node->is_gone = true;
		tree->stacks--;
		tree->counts->merged++;
		if (node->parent == ROOT)
			continue;
		parent = tree_node(tree, (uint32_t)node->parent);
		if (!--parent->children)
			push_leaf(tree, (uint32_t)node->parent);
	}
	return 0;
}

/* --- the profile that it becomes ----------------------------------------- */

static uint64_t first_frame(const struct tree *tree, uint64_t at)
{
	if (at != ROOT && tree_node(tree, (uint32_t)at)->frame & LABELS)
		return tree_node(tree, (uint32_t)at)->parent;
	return at;
}

static uint32_t stack_depth(const struct tree *tree, uint64_t at)
{
	uint32_t depth = 0;

	for (at = first_frame(tree, at); at != ROOT;
	     at = tree_node(tree, (uint32_t)at)->parent)
		depth++;
	return depth;
}

static void emit_sample(const struct tree *tree, uint64_t at, uint32_t *stack,
			struct pprof_sample *out)
{
	const struct pprof *from = tree->from;
	uint64_t frame = first_frame(tree, at);

	*out = (struct pprof_sample){ .stack = stack };
	memcpy(out->value, node_values(tree, at),
	       from->type_count * sizeof(*out->value));
	if (frame != at) {
		const struct label_set *set = tree->labels.items;

		set += tree_node(tree, (uint32_t)at)->frame & ~LABELS;
		out->labels = set->at;
		out->label_count = set->count;
	}
	for (; frame != ROOT; frame = tree_node(tree, (uint32_t)frame)->parent)
		stack[out->depth++] =
			(uint32_t)tree_node(tree, (uint32_t)frame)->frame;
	if (!out->depth)
		stack[out->depth++] = (uint32_t)from->location_count + 1;
}

static bool is_stack(const struct tree *tree, uint32_t node)
{
	return tree_node(tree, node)->has_self &&
	       !tree_node(tree, node)->is_gone;
}

static int emit_samples(const struct tree *tree, struct fitted *out)
{
	struct pprof_sample *samples =
		calloc((size_t)tree->stacks + 1, sizeof(*samples));
	size_t frames = 1, count = 0;
	uint32_t *stacks;

	for (uint32_t i = 0; i < tree->nodes.count; i++)
		if (is_stack(tree, i))
			frames += stack_depth(tree, i) + 1;
	stacks = calloc(frames, sizeof(*stacks));
	out->parts[0] = samples;
	out->parts[1] = stacks;
	if (!samples || !stacks)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->nodes.count; i++)
		if (is_stack(tree, i)) {
			emit_sample(tree, i, stacks, &samples[count]);
			stacks += samples[count++].depth;
		}
	if (tree->root_has_self)
		emit_sample(tree, ROOT, stacks, &samples[count++]);
	out->view.samples = samples;
	out->view.sample_count = count;
	return 0;
}

static void *copy_items(const void *from, size_t count, size_t size)
{
	void *copy = calloc(count + 2, size);

	if (copy && count)
		memcpy(copy, from, count * size);
	return copy;
}

/* Appends the frames that replace merged or cut ones. */
static int add_frames(struct fitted *out)
{
	struct pprof *view = &out->view;
	struct pprof_line *lines = calloc(2, sizeof(*lines));
	static const char *const names[] = { FIT_CUT_FRAME, FIT_MERGED_FRAME };

	out->parts[2] = lines;
	out->parts[3] = copy_items(view->functions, view->function_count,
				   sizeof(*view->functions));
	out->parts[4] = copy_items(view->locations, view->location_count,
				   sizeof(*view->locations));
	if (!lines || !out->parts[3] || !out->parts[4])
		return -ENOMEM;
	view->functions = out->parts[3];
	view->locations = out->parts[4];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		lines[i].function = (uint32_t)view->function_count;
		view->functions[view->function_count++] =
			(struct pprof_function){ .name = names[i], .file = "" };
		view->locations[view->location_count++] =
			(struct pprof_location){ .module = "",
						 .mapping = PPROF_NONE,
						 .lines = &lines[i],
						 .line_count = 1 };
	}
	return 0;
}

static void add_comment(struct fitted *out, unsigned int which, uint64_t count,
			const char *what)
{
	if (!count)
		return;
	snprintf(out->text[which], sizeof(out->text[which]), "perfrec: %llu %s",
		 (unsigned long long)count, what);
	out->view.comments[out->view.comment_count++] = out->text[which];
}

static int add_comments(struct fitted *out)
{
	struct pprof *view = &out->view;

	out->parts[5] = copy_items(view->comments, view->comment_count,
				   sizeof(*view->comments));
	if (!out->parts[5])
		return -ENOMEM;
	view->comments = out->parts[5];
	add_comment(out, 0, out->counts.merged,
		    "small stacks were added to their parent frames");
	add_comment(out, 1, out->counts.cut,
		    "deep stacks were cut in the middle");
	return 0;
}

static int fit_tree(struct tree *tree, uint32_t stacks, struct fitted *out)
{
	size_t labels = 1;
	int err;
	const struct pprof *from;

	for (size_t i = 0; i < tree->from->sample_count; i++)
		labels += tree->from->samples[i].label_count;
	tree->kept = calloc(labels, sizeof(*tree->kept));
	out->parts[6] = tree->kept;
	if (!tree->kept)
		return -ENOMEM;
	from = tree->from;
	for (size_t type = 0; type < from->type_count; type++) {
		double sum = 0;

		for (size_t i = 0; i < from->sample_count; i++) {
			double value = (double)from->samples[i].value[type];

			sum += value < 0 ? -value : value;
		}
		tree->share[type] = sum > 0 ? 1 / sum : 0;
	}
	err = grow_tree(tree);
	if (!err)
		err = merge_leaves(tree, stacks);
	if (!err)
		err = emit_samples(tree, out);
	if (!err)
		err = add_frames(out);
	return err ? err : add_comments(out);
}

int fit_make(const struct pprof *from, uint32_t stacks, bool with_pid,
	     struct fitted *out)
{
	struct tree tree = { .from = from,
			     .counts = &out->counts,
			     .with_pid = with_pid };
	int err;

	*out = (struct fitted){ .view = *from };
	out->view.memory = NULL;
	pool_init(&tree.nodes, NULL, sizeof(struct node), 2 * sizeof(uint64_t));
	pool_init_key(&tree.labels, NULL, sizeof(struct label_set), &label_key);
	err = fit_tree(&tree, stacks, out);
	pool_release(&tree.nodes);
	pool_release(&tree.labels);
	free(tree.values);
	free(tree.heap);
	if (err)
		fit_free(out);
	return err;
}

void fit_free(struct fitted *fitted)
{
	for (size_t i = 0; i < ARRAY_SIZE(fitted->parts); i++)
		free(fitted->parts[i]);
	*fitted = (struct fitted){ 0 };
}
