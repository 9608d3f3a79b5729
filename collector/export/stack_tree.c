/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/export/stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/show/pprof_rows.h"
#include "shared/compiler.h"
#include "shared/hash.h"

static uint64_t hash_name(const void *item)
{
	const char *name = *(const char *const *)item;

	return hash_fold(hash_text(HASH_START, name));
}

static bool is_same_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b) == 0;
}

static struct stack_node *stack_node_at(const struct stack_tree *tree,
					uint32_t number)
{
	return (struct stack_node *)tree->nodes.items + number;
}

const struct stack_node *stack_tree_node(const struct stack_tree *tree,
					 uint32_t number)
{
	return stack_node_at(tree, number);
}

const char *stack_tree_name(const struct stack_tree *tree,
			    const struct stack_node *node)
{
	return ((const char *const *)tree->names.items)[node->name];
}

/* --- adding --- */

static int add_row(struct stack_tree *tree, const struct pprof_row *row,
		   uint32_t value)
{
	uint32_t at = 0;

	if (row->self[value] <= 0)
		return 0;
	for (size_t i = row->depth; i--;) {
		const char *name = row->frames[i].name[0] ? row->frames[i].name
							  : "[unknown]";
		struct stack_node node = {
			.parent = at,
			.depth = stack_node_at(tree, at)->depth + 1
		};

		if (pool_intern(&tree->names, &name, &node.name) < 0 ||
		    pool_intern(&tree->nodes, &node, &at) < 0)
			return -ENOMEM;
		tree->depth = MAX(tree->depth, node.depth);
	}
	stack_node_at(tree, at)->self += (uint64_t)row->self[value];
	return 0;
}

/* --- sorting --- */

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct stack_tree *tree = context;
	const struct stack_node *left =
		stack_node_at(tree, *(const uint32_t *)a);
	const struct stack_node *right =
		stack_node_at(tree, *(const uint32_t *)b);

	if (left->parent != right->parent)
		return left->parent < right->parent ? -1 : 1;
	return strcmp(stack_tree_name(tree, left),
		      stack_tree_name(tree, right));
}

static int add_rows(struct stack_tree *tree, const struct pprof_rows *rows,
		    uint32_t value)
{
	struct stack_node root = { .parent = UINT32_MAX };
	const char *no_name = "";
	uint32_t number;
	uint32_t count;

	if (pool_intern(&tree->names, &no_name, &number) < 0 ||
	    pool_intern(&tree->nodes, &root, &number) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count; i++)
		if (add_row(tree, &rows->list[i], value))
			return -ENOMEM;
	for (uint32_t i = 0; i < tree->nodes.count; i++)
		stack_node_at(tree, i)->total = stack_node_at(tree, i)->self;
	for (uint32_t i = tree->nodes.count - 1; i; i--) {
		struct stack_node *node = stack_node_at(tree, i);

		stack_node_at(tree, node->parent)->total += node->total;
	}
	count = tree->nodes.count - 1;
	tree->order = calloc(count + 1, sizeof(*tree->order));
	if (!tree->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		tree->order[i] = i + 1;
	qsort_r(tree->order, count, sizeof(*tree->order), compare_nodes, tree);
	for (uint32_t i = count; i--;) {
		uint32_t parent = stack_node_at(tree, tree->order[i])->parent;

		stack_node_at(tree, parent)->first = i;
		stack_node_at(tree, parent)->count++;
	}
	return 0;
}

int stack_tree_make(const struct pprof *profile, uint32_t value,
		    struct stack_tree *out)
{
	static const struct pool_key name_key = { hash_name, is_same_name };
	struct pprof_rows rows;
	int err;

	*out = (struct stack_tree){ 0 };
	pool_init_key(&out->names, NULL, sizeof(const char *), &name_key);
	pool_init(&out->nodes, NULL, sizeof(struct stack_node),
		  2 * sizeof(uint32_t));
	err = pprof_rows_by_stack(profile, &rows);
	if (err)
		return err;
	err = add_rows(out, &rows, value);
	pprof_rows_free(&rows);
	if (err)
		stack_tree_release(out);
	return err;
}

void stack_tree_release(struct stack_tree *tree)
{
	pool_release(&tree->names);
	pool_release(&tree->nodes);
	free(tree->order);
	*tree = (struct stack_tree){ 0 };
}
