/* SPDX-License-Identifier: Apache-2.0
 *
 * code_group - a decoded function with all its parts: the piece it starts with
 * and the pieces it jumps into (.cold).
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_GROUP_H
#define PERFREC_COLLECTOR_CODE_CODE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/code/code_decode.h"
#include "collector/code/code_pieces.h"

struct code_file;

struct code_member {
	struct code_piece *piece;
	size_t first, count;
	size_t first_landing, landing_count;
};

struct code_aim {
	uint64_t table; /* 0: a label */
	uint64_t target;
};

struct code_group {
	struct code_file *file;
	const struct code_pieces *pieces;
	size_t ops_max; /* 0: default limit */
	struct code_member *members; /* the first has the function's start */
	size_t member_count, member_room;
	struct code_ops ops;
	struct code_landings landings; /* sorted by start */
	struct code_aim *aims; /* sorted by table */
	size_t aim_count, aim_room;
	uint64_t *tables; /* possible ones */
	size_t table_count, table_room;
	unsigned int strays;
	bool jumps_anywhere; /* through a register or a table */
	uint64_t overlap; /* a jump into an instruction, or 0 */
	bool too_large; /* nothing was decoded, or tables are incomplete */
	bool is_cut; /* parts are missing from members */
};

/* Rebuilds @group for the function that starts at @root. */
int code_group_build(struct code_group *group, struct code_piece *root);
void code_group_release(struct code_group *group);

uint64_t code_op_address(const struct code_member *member,
			 const struct code_op *op);
const struct code_member *code_group_member(const struct code_group *group,
					    uint64_t address);
bool code_group_find(const struct code_group *group, uint64_t address,
		     size_t *out);
/* Returns true for a jump to another function or to a hook. */
bool code_group_leaves(const struct code_group *group,
		       const struct code_piece *piece, uint64_t address);

#endif
