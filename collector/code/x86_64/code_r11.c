/* SPDX-License-Identifier: Apache-2.0
 *
 * code_r11 - marks the instructions reached with the r11 of the function's
 * start, until no more are found.
 */
#include "collector/code/code_r11.h"

#include "collector/code/code_returns.h"

#define JUMPS_MAX 16
#define PASSES_MAX 64
#define R11_BIT (1u << CODE_R11)

struct walk {
	struct code_group *group;
	uint64_t jumps[JUMPS_MAX]; /* reached with the old r11 */
	size_t jump_count;
	bool needs, again;
	bool aimed;
};

static void reach_op(struct walk *walk, size_t number)
{
	struct code_op *op = &walk->group->ops.list[number];

	walk->again |= !op->has_old_r11;
	op->has_old_r11 = true;
}

static void add_walk_jump(struct walk *walk, uint64_t address)
{
	for (size_t i = 0; i < walk->jump_count; i++)
		if (walk->jumps[i] == address)
			return;
	if (walk->jump_count == JUMPS_MAX)
		walk->needs = true; /* give up */
	else
		walk->jumps[walk->jump_count++] = address;
}

static void walk_to(struct walk *walk, uint64_t address)
{
	size_t number;

	if (code_group_find(walk->group, address, &number))
		reach_op(walk, number);
}

/* Follows calls only within the group, as retpoline thunks start with one. An
 * ordinary call passes no value in r11. */
static void pass_op(struct walk *walk, const struct code_member *member,
		    size_t number)
{
	const struct code_op *op = &walk->group->ops.list[number];

	walk->needs |= op->uses_r11;
	if (op->writes & R11_BIT)
		return;
	switch (op->kind) {
	case CODE_OP_JUMP:
	case CODE_OP_BRANCH:
		if (code_group_leaves(walk->group, member->piece, op->value)) {
			add_walk_jump(walk, op->value);
			break;
		}
		walk_to(walk, op->value);
		break;
	case CODE_OP_CALL:
		walk_to(walk, op->value);
		break;
	case CODE_OP_JUMP_OTHER:
	case CODE_OP_JUMP_TABLE:
		for (size_t i = 0; !walk->aimed && i < walk->group->aim_count;
		     i++)
			walk_to(walk, walk->group->aims[i].target);
		walk->aimed = true;
		break;
	default:
		break;
	}
	if ((op->kind < CODE_OP_CALL || op->kind == CODE_OP_BRANCH ||
	     (op->kind == CODE_OP_CALL &&
	      code_returns_at_once(walk->group->file, op->value))) &&
	    number + 1 < member->first + member->count)
		reach_op(walk, number + 1);
}

static void look_for_r11(struct walk *walk)
{
	const struct code_group *group = walk->group;

	if (!group->member_count || group->is_cut || group->too_large) {
		walk->needs = true;
		return;
	}
	walk->aimed = false;
	reach_op(walk, group->members[0].first);
	for (unsigned int pass = 0; walk->again && !walk->needs; pass++) {
		walk->again = false;
		walk->needs |= pass == PASSES_MAX;
		for (size_t i = 0; i < group->member_count; i++)
			for (size_t j = 0; j < group->members[i].count; j++)
				if (group->ops.list[group->members[i].first + j]
					    .has_old_r11)
					pass_op(walk, &group->members[i],
						group->members[i].first + j);
	}
}

static bool follow_r11(struct walk *walk, struct code_group *scratch)
{
	walk->group = scratch;
	for (size_t i = 0; !walk->needs && i < walk->jump_count; i++) {
		struct code_piece *piece =
			code_pieces_at(scratch->pieces, walk->jumps[i]);

		if (!piece || piece->start != walk->jumps[i] ||
		    piece->r11 == CODE_R11_FREE)
			continue;
		if (piece->r11 == CODE_R11_NEEDED ||
		    code_group_build(scratch, piece))
			walk->needs = true;
		else
			look_for_r11(walk);
	}
	/* If the first function does not need r11, none it jumps to does. */
	for (size_t i = 0; i < walk->jump_count; i++) {
		struct code_piece *piece =
			code_pieces_at(scratch->pieces, walk->jumps[i]);

		if (piece && piece->start == walk->jumps[i] &&
		    (!walk->needs || !i))
			piece->r11 =
				walk->needs ? CODE_R11_NEEDED : CODE_R11_FREE;
	}
	return walk->needs;
}

bool code_r11_enters(struct code_group *group, struct code_group *scratch)
{
	struct walk walk = { .group = group };

	look_for_r11(&walk);
	for (size_t i = 0; !walk.needs && i < walk.jump_count; i++)
		walk.needs = code_r11_enters_at(scratch, walk.jumps[i]);
	return walk.needs;
}

bool code_r11_enters_at(struct code_group *scratch, uint64_t address)
{
	struct walk walk = { .jumps = { address }, .jump_count = 1 };

	return follow_r11(&walk, scratch);
}

bool code_r11_given(const struct code_group *group,
		    const struct code_member *member, size_t number)
{
	while (number-- > member->first) {
		const struct code_op *op = &group->ops.list[number];

		if (op->writes & R11_BIT)
			return true;
		if (op->kind >= CODE_OP_CALL && op->kind != CODE_OP_BRANCH)
			return false;
	}
	return false;
}
