/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/flat_stacks.h"

#include <stdlib.h>

#include "collector/profile/stacks.h"
#include "collector/replay/cct_flat.h"

uint32_t *flat_stacks(const struct cct_flat *flat, struct stacks *stacks)
{
	uint32_t *number = calloc(flat->node_count, sizeof(*number));

	if (!number)
		return NULL;
	number[0] = STACKS_ROOT;
	for (size_t i = 1; i < flat->node_count; i++) {
		const struct flat_node *node = &flat->node[i];
		const struct flat_function *function =
			&flat->function[node->function];
		struct stack_frame frame = { .address = function->address,
					     .generation = function->generation,
					     .kind = FRAME_ENTRY };

		/* The root of stacks without room is no function either. */
		if (!node->function)
			frame = (struct stack_frame){ .address = FRAME_OTHER,
						      .kind = FRAME_NAMED };
		number[i] = stacks_child(stacks, number[node->parent], &frame);
	}
	return number;
}
