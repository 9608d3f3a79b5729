/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/export/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/put.h"
#include "collector/export/stack_tree.h"

void export_folded_name(const char *name, FILE *out)
{
	put_line(name, strlen(name), ";:", out);
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

		if (self) {
			uint32_t number = i;
			uint32_t depth = stack_tree_node(&tree, number)->depth;

			for (uint32_t j = depth; j--;) {
				path[j] = number;
				number = stack_tree_node(&tree, number)->parent;
			}
			for (uint32_t j = 0; j < depth; j++) {
				if (j)
					put_char(';', out);
				export_folded_name(
					stack_tree_name(
						&tree, stack_tree_node(
							       &tree, path[j])),
					out);
			}
			put_char(' ', out);
			put_count(self, out);
			put_char('\n', out);
		}
	}
	err = path ? 0 : -ENOMEM;
	free(path);
	stack_tree_release(&tree);
	return err ? err : ferror(out) ? -EIO : 0;
}
