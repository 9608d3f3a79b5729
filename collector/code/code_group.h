/* SPDX-License-Identifier: Apache-2.0
 *
 * code_group - a function with all its parts, decoded: the piece at which it
 * begins, and the pieces that it jumps into (.cold). Knows where jumps, tables
 * and exceptions lead.
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
	size_t first, count; /* its instructions: ops.list[first] and on */
	/* Its landing pads, until all is sorted. */
	size_t first_landing, landing_count;
};

struct code_aim { /* where an entry of a table leads */
	uint64_t table; /* 0: a label whose address is in the code */
	uint64_t target;
};

struct code_group {
	struct code_file *file;
	const struct code_pieces *pieces;
	size_t ops_max; /* 0: the usual limit of instructions */
	struct code_member *members; /* the first is where it begins */
	size_t member_count, member_room;
	struct code_ops ops;
	struct code_landings landings; /* by start */
	struct code_aim *aims; /* by table */
	size_t aim_count, aim_room;
	uint64_t *tables; /* addresses of what could be tables */
	size_t table_count, table_room;
	unsigned int strays; /* pieces that only a table knows */
	bool jumps_anywhere; /* has a jump through a register or a table */
	uint64_t overlap; /* what jumps into an instruction, or 0 */
	bool too_large; /* no members: it was not decoded; else not all tables
			 * are known */
	bool is_cut; /* it has more parts than the members */
};

/* Makes the group that begins at @root; what was there before is forgotten. 0
 * or -ENOMEM. */
int code_group_build(struct code_group *group, struct code_piece *root);
void code_group_release(struct code_group *group);

/* The virtual address of @op, one of @member. */
uint64_t code_op_address(const struct code_member *member,
			 const struct code_op *op);
/* The member with the byte at @address, or NULL. */
const struct code_member *code_group_member(const struct code_group *group,
					    uint64_t address);
/* Whether an instruction of the group begins at @address; *@out is its number.
 */
bool code_group_find(const struct code_group *group, uint64_t address,
		     size_t *out);
/* Whether a jump from @piece to @address leaves for another function, or for a
 * hook. */
bool code_group_leaves(const struct code_group *group,
		       const struct code_piece *piece, uint64_t address);

#endif
