/* SPDX-License-Identifier: Apache-2.0
 *
 * code_flow - follows the code of a function in a calls build and finds the
 * constants that rdi may hold at each call of a hook.
 *
 * Facts must hold on all paths: jumps, branches, jump tables and landing pads,
 * which keep callee-saved registers. Unreached code is followed with nothing
 * known. So code that is not understood gives "unknown", never a wrong
 * constant.
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
	struct code_block *blocks; /* sorted by first instruction */
	size_t block_count, block_room;
	struct code_state *states;
	size_t state_room;
	size_t *queue;
	size_t queue_count, queue_room;
	uint64_t steps; /* left before it gives up */
	bool loads_hook;
	bool lost; /* a hook's address is no longer tracked */
	bool is_blamed; /* all functions of the group are refused */
	bool is_doubtful; /* some site has several or unknown functions */
	int err;
};

int code_flow_follow(struct code_flow *flow, struct code_piece *piece);
void code_flow_release(struct code_flow *flow);

#endif
