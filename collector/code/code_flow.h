/* SPDX-License-Identifier: Apache-2.0
 *
 * code_flow - follows the code of a function of a calls build, and finds out
 * which constants rdi may be where it calls a hook.
 *
 * What is known at a point is what holds on all paths to it: jumps, branches,
 * entries of jump tables, and landing pads, where what a callee saves is as it
 * was at the calls of their range. What nothing seems to reach is followed with
 * nothing known. So what is not understood becomes "unknown", never wrong.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_FLOW_H
#define PERFREC_COLLECTOR_CODE_CODE_FLOW_H

#include "collector/code/code_found.h"
#include "collector/code/code_group.h"
#include "collector/code/code_scan.h"
#include "collector/code/code_state.h"

struct code_block;

struct code_flow {
	struct code_file *file;
	const struct code_scan *scan;
	struct code_found *found;
	struct code_group group;
	struct code_group scratch;
	struct code_values values;
	struct code_block *blocks; /* by the first instruction */
	size_t block_count, block_room;
	struct code_state *states;
	size_t state_room;
	size_t *queue; /* numbers of blocks */
	size_t queue_count, queue_room;
	uint64_t steps; /* instructions that may still be gone over */
	bool loads_hook; /* has the address of a hook in a register */
	bool lost; /* and it went where we do not follow */
	bool is_blamed; /* any function of the group may be meant */
	bool is_doubtful; /* a site may stand for several functions, or any */
	int err;
};

/* Follows the function that begins at @piece. 0 or -ENOMEM. */
int code_flow_follow(struct code_flow *flow, struct code_piece *piece);
void code_flow_release(struct code_flow *flow);

#endif
