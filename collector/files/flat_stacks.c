/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/flat_stacks.h"

#include <stdlib.h>

#include "collector/profile/stacks.h"
#include "collector/replay/cct_flat.h"

/* Returns the frame of @node of @flat. Two nodes have function 0: the root,
 * which is no function, and the root of stacks without room. */
static struct stack_frame frame_of_flat(const struct cct_flat *flat,
					const struct flat_node *node)
{
	const struct flat_function *function = &flat->function[node->function];

	if (!node->function)
		return (struct stack_frame){ .address = FRAME_OTHER,
					     .kind = FRAME_NAMED };
	return (struct stack_frame){ .address = function->address,
				     .generation = function->generation,
				     .kind = FRAME_ENTRY };
}

uint32_t *flat_stacks(const struct cct_flat *flat, struct stacks *stacks)
{
	uint32_t *number = calloc(flat->node_count, sizeof(*number));

	if (!number)
		return NULL;
	number[0] = STACKS_ROOT;
	for (size_t i = 1; i < flat->node_count; i++) {
		const struct flat_node *node = &flat->node[i];
		const struct stack_frame frame = frame_of_flat(flat, node);

		number[i] = stacks_child(stacks, number[node->parent], &frame);
	}
	return number;
}
