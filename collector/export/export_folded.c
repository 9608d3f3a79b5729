/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/export/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/put.h"
#include "collector/export/stack_tree.h"

#define KERNEL_NAME "[kernel]" /* frame in cpu.pb.gz */

void export_folded_name(const char *name, FILE *out)
{
	put_line(name, strlen(name), ";:", out);
}

/* Sets @path to the nodes from below the root to @number. Returns the depth. */
static uint32_t path_to(const struct stack_tree *tree, uint32_t number,
			uint32_t *path)
{
	uint32_t depth = stack_tree_node(tree, number)->depth;

	for (uint32_t i = depth; i--;) {
		path[i] = number;
		number = stack_tree_node(tree, number)->parent;
	}
	return depth;
}

/* The functions of the kernel end in "_[k]", as flamegraph.pl knows them. */
static void put_folded_stack(const struct stack_tree *tree,
			     const uint32_t *path, uint32_t depth,
			     uint64_t value, FILE *out)
{
	bool in_kernel = false;

	for (uint32_t i = 0; i < depth; i++) {
		const char *name =
			stack_tree_name(tree, stack_tree_node(tree, path[i]));

		if (i)
			put_char(';', out);
		export_folded_name(name, out);
		if (in_kernel)
			put_text("_[k]", out);
		in_kernel |= !strcmp(name, KERNEL_NAME);
	}
	put_char(' ', out);
	put_count(value, out);
	put_char('\n', out);
}

int export_folded(const struct export_profile *profile, FILE *out)
{
	struct stack_tree tree;
	int err = stack_tree_make(profile->profile, profile->value, &tree);
	uint32_t *path;

	if (err)
		return err;
	path = calloc(tree.depth + 1, sizeof(*path));
	for (uint32_t i = 1; path && i < tree.nodes.count; i++) {
		uint64_t self = stack_tree_node(&tree, i)->self;

		if (self)
			put_folded_stack(&tree, path, path_to(&tree, i, path),
					 self, out);
	}
	err = path ? 0 : -ENOMEM;
	free(path);
	stack_tree_release(&tree);
	return err ? err : ferror(out) ? -EIO : 0;
}
