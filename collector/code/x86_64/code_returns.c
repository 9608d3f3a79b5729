/* SPDX-License-Identifier: Apache-2.0
 *
 * code_returns - a function never returns if it has no return and jumps only to
 * functions that never return either.
 */
#include "collector/code/code_returns.h"

#include <string.h>

#include "collector/code/code_file.h"
#include "collector/code/code_stub.h"

#define JUMPS_MAX 8 /* one after another */
#define BYTES_MAX 4096 /* of a function */

bool code_returns_never_slot(const struct code_file *file, uint64_t address)
{
	const struct code_reloc *reloc = code_file_reloc(file, address);

	return reloc && reloc->kind == CODE_NO_RETURN;
}

bool code_returns_at_once(const struct code_file *file, uint64_t address)
{
	static const uint8_t code[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xc3 };
	const uint8_t *at = code_file_text(file, address)
				    ? code_file_at(file, address, 1)
				    : NULL;

	if (at && *at == code[0])
		at = code_file_at(file, address, sizeof(code));
	return at && (*at == 0xc3 || !memcmp(at, code, sizeof(code)));
}

/* *@next becomes the function that the group jumps to; then UNKNOWN. */
static enum code_returns look_for_return(const struct code_group *group,
					 uint64_t *next)
{
	enum code_returns verdict = CODE_RETURNS_NEVER;

	for (size_t i = 0; i < group->member_count; i++) {
		const struct code_member *member = &group->members[i];

		for (size_t j = 0; j < member->count; j++) {
			const struct code_op *op =
				&group->ops.list[member->first + j];
			bool jumps = op->kind == CODE_OP_JUMP ||
				     op->kind == CODE_OP_BRANCH;

			if (op->kind == CODE_OP_JUMP_OTHER ||
			    op->kind == CODE_OP_JUMP_TABLE) {
				if (!group->aim_count)
					return CODE_RETURNS;
				continue;
			}
			if (jumps &&
			    !code_group_leaves(group, member->piece, op->value))
				continue;
			if (jumps && (!*next || *next == op->value)) {
				*next = op->value;
				verdict = CODE_RETURNS_UNKNOWN;
				continue;
			}
			if (jumps || op->kind == CODE_OP_RETURN ||
			    op->kind == CODE_OP_BAD ||
			    (op->kind == CODE_OP_JUMP_MEMORY &&
			     !code_returns_never_slot(group->file, op->value)))
				return CODE_RETURNS;
		}
	}
	return group->too_large || group->is_cut || group->overlap
		       ? CODE_RETURNS
		       : verdict;
}

bool code_returns_never(struct code_group *scratch, uint64_t address)
{
	struct code_piece *first = NULL;
	bool never = false;

	for (unsigned int i = 0; i < JUMPS_MAX; i++) {
		struct code_piece *piece =
			code_pieces_at(scratch->pieces, address);
		uint64_t next = 0, slot;

		if (code_file_stub(scratch->file, address, &slot)) {
			never = code_returns_never_slot(scratch->file, slot);
			break;
		}
		if (!piece || piece->start != address ||
		    piece->bytes > BYTES_MAX)
			break;
		first = first ? first : piece;
		if (piece->returns == CODE_RETURNS_UNKNOWN) {
			if (code_group_build(scratch, piece))
				break;
			piece->returns =
				(uint8_t)look_for_return(scratch, &next);
		}
		never = piece->returns == CODE_RETURNS_NEVER;
		if (piece->returns != CODE_RETURNS_UNKNOWN)
			break;
		address = next;
	}
	if (first && first->returns == CODE_RETURNS_UNKNOWN)
		first->returns = never ? CODE_RETURNS_NEVER : CODE_RETURNS;
	return never;
}
