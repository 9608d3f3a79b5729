/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/code/code_file.h"
#include "collector/code/code_stub.h"
#include "shared/compiler.h"

#define MEMBERS_MAX 128
#define OPS_MAX (1u << 20)
#define TABLES_MAX 4096
#define STRAYS_MAX 256
#define STRAY_BYTES_MAX 65536
#define TABLE_ENTRIES_MAX 65536
#define AIMS_MAX (1u << 16)

/* --- looking up ---------------------------------------------------------- */

uint64_t code_op_address(const struct code_member *member,
			 const struct code_op *op)
{
	return member->piece->start + op->at;
}

const struct code_member *code_group_member(const struct code_group *group,
					    uint64_t address)
{
	for (size_t i = 0; i < group->member_count; i++)
		if (address - group->members[i].piece->start <
		    group->members[i].piece->bytes)
			return &group->members[i];
	return NULL;
}

bool code_group_find(const struct code_group *group, uint64_t address,
		     size_t *out)
{
	const struct code_member *member = code_group_member(group, address);
	const struct code_op *ops;
	size_t at;

	if (!member)
		return false;
	ops = &group->ops.list[member->first];
	at = search_first(i, member->count,
			  member->piece->start + ops[i].at >= address);
	*out = member->first + at;
	return at < member->count &&
	       member->piece->start + ops[at].at == address;
}

/* Returns NULL if a jump from @from to @address leaves the function. */
static struct code_piece *piece_of_jump(const struct code_group *group,
					const struct code_piece *from,
					uint64_t address)
{
	struct code_piece *piece;
	uint64_t slot;

	if (address - from->start < from->bytes)
		return (struct code_piece *)from;
	piece = code_pieces_at(group->pieces, address);
	if (!piece || (piece->is_entry && piece->start == address) ||
	    code_file_stub(group->file, address, &slot))
		return NULL;
	return piece;
}

bool code_group_leaves(const struct code_group *group,
		       const struct code_piece *piece, uint64_t address)
{
	return !piece_of_jump(group, piece, address);
}

/* --- members ------------------------------------------------------------- */

static int add_member(struct code_group *group, struct code_piece *piece)
{
	const size_t ops_max = group->ops_max ? group->ops_max : OPS_MAX;
	struct code_member member = { .piece = piece,
				      .first = group->ops.count,
				      .first_landing = group->landings.count };
	const uint8_t *code;
	int err;

	if (code_group_member(group, piece->start))
		return 0;
	code = code_file_at(group->file, piece->start, piece->bytes);
	if (!code || group->member_count == MEMBERS_MAX ||
	    group->ops.count + piece->bytes / 4 > ops_max) {
		group->is_cut = true;
		group->too_large |= !group->member_count;
		return 0;
	}
	if (grow_array_from(&group->file->budget, group->members,
			    group->member_room, group->member_count + 1))
		return -ENOMEM;
	err = code_decode(code, piece->bytes, piece->start, &group->ops,
			  &group->file->budget);
	if (!err)
		err = code_piece_landings(piece, group->file, &group->landings);
	if (err)
		return err;
	member.count = group->ops.count - member.first;
	member.landing_count = group->landings.count - member.first_landing;
	group->members[group->member_count++] = member;
	return 0;
}

static int add_jump(struct code_group *group, const struct code_piece *from,
		    uint64_t address)
{
	struct code_piece *piece = piece_of_jump(group, from, address);

	return piece && piece != from ? add_member(group, piece) : 0;
}

static int add_table(struct code_group *group, uint64_t address)
{
	if (group->table_count == TABLES_MAX ||
	    code_pieces_at(group->pieces, address) ||
	    !code_file_at(group->file, address, 4))
		return 0;
	if (grow_array_from(&group->file->budget, group->tables,
			    group->table_room, group->table_count + 1))
		return -ENOMEM;
	group->tables[group->table_count++] = address;
	return 0;
}

static int look_at_group_op(struct code_group *group,
			    const struct code_piece *piece,
			    const struct code_op *op)
{
	switch (op->kind) {
	case CODE_OP_JUMP:
	case CODE_OP_BRANCH:
		return add_jump(group, piece, op->value);
	case CODE_OP_JUMP_OTHER:
		group->jumps_anywhere = true;
		return 0;
	case CODE_OP_JUMP_TABLE:
		group->jumps_anywhere = true;
		break;
	case CODE_OP_LOAD_TABLE:
		break;
	case CODE_OP_CONST:
		return op->extra == 1 || group->file->is_fixed
			       ? add_table(group, op->value)
			       : 0;
	default:
		return 0;
	}
	return op->base == CODE_NO_REGISTER ? add_table(group, op->value) : 0;
}

/* Copies the member, since adding others may move it. */
static int look_at_member(struct code_group *group, size_t number)
{
	const struct code_member member = group->members[number];
	int err = 0;

	for (size_t i = 0; !err && i < member.count; i++) {
		const struct code_op op = group->ops.list[member.first + i];

		err = look_at_group_op(group, member.piece, &op);
	}
	for (size_t i = 0; !err && i < member.landing_count; i++)
		err = add_jump(
			group, member.piece,
			group->landings.list[member.first_landing + i].landing);
	return err;
}

/* --- tables -------------------------------------------------------------- */

static int compare_addresses(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int compare_aims(const void *left, const void *right)
{
	const struct code_aim *a = left, *b = right;

	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return (a->target > b->target) - (a->target < b->target);
}

static int add_aim(struct code_group *group, uint64_t table, uint64_t target)
{
	if (group->aim_count == AIMS_MAX)
		group->too_large = true;
	if (group->too_large)
		return 0;
	if (grow_array_from(&group->file->budget, group->aims, group->aim_room,
			    group->aim_count + 1))
		return -ENOMEM;
	group->aims[group->aim_count++] = (struct code_aim){ table, target };
	return 0;
}

/* Returns 1 if @piece, which only a supposed table refers to, jumps into
 * another function. Then the table is not one or has ended. Or 0, or
 * -ENOMEM. */
static int is_foreign(struct code_group *group, const struct code_piece *piece)
{
	const uint8_t *code =
		code_file_at(group->file, piece->start, piece->bytes);
	const size_t count = group->ops.count;
	bool found = !code || piece->bytes > STRAY_BYTES_MAX;
	int err = !found ? code_decode(code, piece->bytes, piece->start,
				       &group->ops, &group->file->budget)
			 : 0;

	for (size_t i = count; !err && i < group->ops.count; i++) {
		const struct code_op *op = &group->ops.list[i];
		const struct code_piece *to;

		if (op->kind != CODE_OP_JUMP && op->kind != CODE_OP_BRANCH)
			continue;
		to = piece_of_jump(group, piece, op->value);
		found |= to && to->is_entry &&
			 !code_group_member(group, to->start);
	}
	group->ops.count = count;
	return err ? err : found;
}

/* Returns 0 if the table ended before this entry, else 1 or -ENOMEM. Compilers
 * let unused entries point just behind the end of the function. */
static int take_table_entry(struct code_group *group, uint64_t table,
			    uint64_t target)
{
	struct code_piece *piece = code_pieces_at(group->pieces, target);
	int err;

	if (code_group_member(group, target - 1) &&
	    !code_group_member(group, target))
		return 1;
	if (!piece)
		return 0;
	if (!code_group_member(group, target)) {
		if (piece->is_entry || group->strays++ >= STRAYS_MAX)
			return 0;
		err = is_foreign(group, piece);
		if (err)
			return MIN(err, 0);
	}
	err = add_member(group, piece);
	if (!err)
		err = add_aim(group, table, target);
	return err ? err : 1;
}

/* Entries have 4 bytes, relative to the table, or 8 bytes. */
static int read_table(struct code_group *group, uint64_t table, uint64_t end,
		      unsigned int bytes)
{
	int more = 1;

	for (uint64_t i = 0;
	     more == 1 && i < TABLE_ENTRIES_MAX && !group->too_large; i++) {
		uint64_t at = table + i * bytes, target;
		const uint8_t *from = code_file_at(group->file, at, bytes);
		int32_t distance;

		if (at >= end || !from)
			break;
		memcpy(&distance, from, sizeof(distance));
		target = table + (uint64_t)(int64_t)distance;
		if (bytes == 8 && !code_file_pointer(group->file, at, &target))
			break;
		more = take_table_entry(group, table, target);
	}
	return more < 0 ? more : 0;
}

static int read_tables(struct code_group *group)
{
	int err = 0;

	group->aim_count = 0;
	if (group->table_count)
		qsort(group->tables, group->table_count, sizeof(*group->tables),
		      compare_addresses);
	for (size_t i = 0; !err && i < group->table_count; i++) {
		uint64_t table = group->tables[i], end = UINT64_MAX;

		if (i && table == group->tables[i - 1])
			continue;
		for (size_t j = i + 1; j < group->table_count; j++)
			if (group->tables[j] != table) {
				end = group->tables[j];
				break;
			}
		err = read_table(group, table, end, 4);
		if (!err)
			err = read_table(group, table, end, 8);
	}
	return err;
}

/* --- leaders ------------------------------------------------------------- */

static void mark_target(struct code_group *group, uint64_t from,
			uint64_t address)
{
	size_t number;

	if (code_group_find(group, address, &number))
		group->ops.list[number].is_leader = true;
	else if (from && code_group_member(group, address))
		group->overlap = from;
}

/* A label whose address is in the code may be the target of a jump. */
static int take_label(struct code_group *group, uint64_t address)
{
	const struct code_member *member = code_group_member(group, address);

	return member && address != member->piece->start
		       ? add_aim(group, 0, address)
		       : 0;
}

static int mark_member(struct code_group *group,
		       const struct code_member *member)
{
	int err = 0;

	group->ops.list[member->first].is_leader = true;
	for (size_t i = 0; !err && i < member->count; i++) {
		struct code_op *op = &group->ops.list[member->first + i];

		if (op->kind == CODE_OP_CONST && group->jumps_anywhere)
			err = take_label(group, op->value);
		if (op->kind < CODE_OP_JUMP && op->kind != CODE_OP_BAD)
			continue;
		if (i + 1 < member->count)
			op[1].is_leader = true;
		if ((op->kind == CODE_OP_JUMP || op->kind == CODE_OP_BRANCH) &&
		    !code_group_leaves(group, member->piece, op->value))
			mark_target(group, code_op_address(member, op),
				    op->value);
	}
	return err;
}

static int compare_landings(const void *left, const void *right)
{
	const struct code_landing *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static int mark_leaders(struct code_group *group)
{
	int err = 0;

	for (size_t i = 0; !err && i < group->member_count; i++)
		err = mark_member(group, &group->members[i]);
	for (size_t i = 0; i < group->landings.count; i++)
		mark_target(group, group->landings.list[i].start,
			    group->landings.list[i].landing);
	for (size_t i = 0; i < group->aim_count; i++)
		mark_target(group, 0, group->aims[i].target);
	if (group->landings.count)
		qsort(group->landings.list, group->landings.count,
		      sizeof(*group->landings.list), compare_landings);
	if (group->aim_count)
		qsort(group->aims, group->aim_count, sizeof(*group->aims),
		      compare_aims);
	return err;
}

int code_group_build(struct code_group *group, struct code_piece *root)
{
	size_t looked = 0;
	int err;

	group->member_count = group->ops.count = group->landings.count = 0;
	group->aim_count = group->table_count = 0;
	group->jumps_anywhere = group->too_large = group->is_cut = false;
	group->overlap = 0;
	group->strays = 0;
	err = add_member(group, root);
	while (!err && looked < group->member_count) {
		while (!err && looked < group->member_count)
			err = look_at_member(group, looked++);
		if (!err && group->jumps_anywhere)
			err = read_tables(group);
	}
	return err ? err : mark_leaders(group);
}

void code_group_release(struct code_group *group)
{
	free(group->members);
	free(group->ops.list);
	free(group->landings.list);
	free(group->aims);
	free(group->tables);
	*group = (struct code_group){ 0 };
}
