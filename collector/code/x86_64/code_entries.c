/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/code/code_file.h"
#include "collector/code/code_moves.h"
#include "collector/code/code_r11.h"
#include "collector/code/code_returns.h"
#include "collector/code/code_site.h"
#include "shared/compiler.h"
#include "shared/entry_build.h"

#define GCC_BYTES 4
#define XRAY_BYTES 32
#define XRAY_VERSION 2
#define SLED_BYTES 11
#define NOP_BYTES 5

static const uint8_t g_endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
static const uint8_t g_nop[NOP_BYTES] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

static bool has_bytes(const struct code_file *file, uint64_t address,
		      const void *bytes, size_t count)
{
	const uint8_t *at = code_file_text(file, address)
				    ? code_file_at(file, address, count)
				    : NULL;

	return at && !memcmp(at, bytes, count);
}

static int refuse_group_entry(struct code_entries *entries, uint64_t function,
			      enum code_refusal refusal, uint64_t at)
{
	const struct code_blame blame = { .address = function,
					  .at = at,
					  .refusal = (uint8_t)refusal,
					  .is_function = true };

	return code_found_blame(entries->found, &blame);
}

/* --- gcc ----------------------------------------------------------------- */

/* Returns CODE_FORMS if @at has no call of our stub. */
static enum code_form entry_form(const struct code_file *file, uint64_t at)
{
	bool is_67 = has_bytes(file, at, "\x67\xe8", 2);
	uint64_t length = is_67 ? 6 : 5;
	const uint8_t *code = code_file_at(file, at, length);
	int32_t distance;

	if (!code || (!is_67 && !has_bytes(file, at, "\xe8", 1)))
		return CODE_FORMS;
	memcpy(&distance, code + length - 4, sizeof(distance));
	if (!code_returns_at_once(file,
				  at + length + (uint64_t)(int64_t)distance))
		return CODE_FORMS;
	return is_67 ? CODE_ENTRY_CALL_67 : CODE_ENTRY_CALL;
}

static bool has_nop(const struct code_entries *entries,
		    const struct code_member *member, size_t number)
{
	const struct code_op *op = &entries->group.ops.list[number];

	return number > member->first && !op->is_leader &&
	       op[-1].length == NOP_BYTES &&
	       has_bytes(entries->file, code_op_address(member, op - 1), g_nop,
			 NOP_BYTES);
}

/* With jump tables, a jump without a nop belongs to a switch. */
static bool could_leave(const struct code_entries *entries,
			const struct code_member *member,
			const struct code_op *op)
{
	switch (op->kind) {
	case CODE_OP_RETURN:
	case CODE_OP_JUMP_MEMORY:
		return true;
	case CODE_OP_JUMP:
	case CODE_OP_BRANCH:
		return code_group_leaves(&entries->group, member->piece,
					 op->value);
	case CODE_OP_JUMP_OTHER:
	case CODE_OP_JUMP_TABLE:
		return !entries->group.aim_count;
	default:
		return false;
	}
}

static bool is_plain_return(const struct code_file *file,
			    const struct code_member *member,
			    const struct code_op *op)
{
	return op->kind == CODE_OP_RETURN &&
	       has_bytes(file, code_op_address(member, op), "\xc3", 1);
}

/* @before is the instruction that calls the thunk. No function returns a value
 * in r11. */
static bool needs_r11(struct code_entries *entries,
		      const struct code_member *member, size_t before,
		      const struct code_op *op)
{
	switch (op->kind) {
	case CODE_OP_RETURN:
		return false;
	case CODE_OP_JUMP_TABLE: /* its targets are not followed */
		return true;
	case CODE_OP_JUMP_OTHER:
		if (op->from == CODE_NO_REGISTER &&
		    op->base == CODE_NO_REGISTER)
			return true;
		break;
	case CODE_OP_JUMP:
		if (code_r11_enters_at(&entries->scratch, op->value))
			return true;
		break;
	default:
		break;
	}
	return op->uses_r11 || code_r11_given(&entries->group, member, before);
}

static int take_exit(struct code_entries *entries,
		     const struct code_member *member, size_t number,
		     uint64_t function)
{
	const struct code_op *op = &entries->group.ops.list[number];
	struct code_use use = {
		.site = code_op_address(member, op) - NOP_BYTES,
		.address = function,
		.form = is_plain_return(entries->file, member, op)
				? CODE_EXIT_RETURN
				: CODE_EXIT_NOP,
		.length = NOP_BYTES,
		.is_exit = true,
		.entry_build = true,
		.is_known = true,
	};

	if (op->kind == CODE_OP_BAD)
		return refuse_group_entry(entries, function, CODE_UNDECODED,
					  code_op_address(member, op));
	if (op->kind < CODE_OP_JUMP || op->kind == CODE_OP_STOP)
		return 0;
	if (op->kind != CODE_OP_BRANCH && has_nop(entries, member, number)) {
		use.r11_live = needs_r11(entries, member, number - 1, op);
		return code_found_use(entries->found, &use);
	}
	if (could_leave(entries, member, op))
		return refuse_group_entry(entries, function, CODE_EXIT_MISSING,
					  code_op_address(member, op));
	return 0;
}

static int take_exits(struct code_entries *entries, uint64_t function)
{
	const struct code_group *group = &entries->group;
	int err = 0;

	for (size_t i = 0; !err && i < group->member_count; i++) {
		const struct code_member *member = &group->members[i];

		if (i && member->piece->is_entry)
			err = refuse_group_entry(entries, function,
						 CODE_UNDECODED,
						 member->piece->start);
		for (size_t j = 0; !err && j < member->count; j++)
			err = take_exit(entries, member, member->first + j,
					function);
	}
	if (!err && group->overlap)
		err = refuse_group_entry(entries, function, CODE_UNDECODED,
					 group->overlap);
	return err;
}

static int take_function(struct code_entries *entries, uint64_t at,
			 struct code_piece *piece)
{
	struct code_use use = { .site = at,
				.address = piece->start,
				.entry_build = true,
				.is_known = true };
	int err;

	/* mold rewrites FF 15 as 90 E8. */
	if (has_bytes(entries->file, at, "\x90\xe8", 2))
		use.site = at + 1;
	use.form = (uint8_t)entry_form(entries->file, use.site);
	use.length = use.form == CODE_ENTRY_CALL_67 ? 6 : 5;
	if (at != piece->start &&
	    (at != piece->start + sizeof(g_endbr) ||
	     !has_bytes(entries->file, piece->start, g_endbr, sizeof(g_endbr))))
		return refuse_group_entry(entries, piece->start, CODE_NO_ENTRY,
					  at);
	if (use.form == CODE_FORMS)
		return refuse_group_entry(entries, piece->start,
					  CODE_STUB_NOT_OURS, at);
	err = code_found_use(entries->found, &use);
	if (!err)
		err = code_group_build(&entries->group, piece);
	if (err)
		return err;
	entries->found->decoded += entries->group.ops.count;
	if (entries->group.too_large || entries->group.is_cut)
		return refuse_group_entry(entries, piece->start, CODE_TOO_LARGE,
					  piece->start);
	if (code_r11_enters(&entries->group, &entries->scratch))
		return refuse_group_entry(entries, piece->start,
					  CODE_VALUE_IN_R11, piece->start);
	return take_exits(entries, piece->start);
}

/* *@call is the address of the call that entry @number refers to. */
static struct code_piece *gcc_piece(const struct code_entries *entries,
				    size_t number, uint64_t *call)
{
	const uint64_t at =
		entries->file->gcc_entries.vaddr + number * GCC_BYTES;
	const uint8_t *entry = code_file_at(entries->file, at, GCC_BYTES);
	int32_t distance;

	if (!entry)
		return NULL;
	memcpy(&distance, entry, sizeof(distance));
	*call = at + (uint64_t)(int64_t)distance;
	return distance ? code_pieces_at(entries->pieces, *call) : NULL;
}

static int take_gcc(struct code_entries *entries, size_t number,
		    uint64_t *bytes)
{
	uint64_t call;
	struct code_piece *piece = gcc_piece(entries, number, &call);

	if (!piece || code_moves_find(entries->moves, piece->start))
		return 0;
	*bytes += piece->bytes;
	return take_function(entries, call, piece);
}

/* --- XRay ---------------------------------------------------------------- */

enum { SLED_ENTRY, SLED_EXIT, SLED_TAIL, SLED_ARGS_ENTRY, SLED_EVENT };

static bool is_sled(const struct code_file *file, uint64_t at, uint8_t kind)
{
	static const uint8_t jump[SLED_BYTES] = { 0xeb, 0x09, 0x66, 0x0f,
						  0x1f, 0x84, 0x00, 0x00,
						  0x02, 0x00, 0x00 };
	static const uint8_t leave[SLED_BYTES] = { 0xc3, 0x2e, 0x66, 0x0f,
						   0x1f, 0x84, 0x00, 0x00,
						   0x02, 0x00, 0x00 };

	return has_bytes(file, at, kind == SLED_EXIT ? leave : jump,
			 SLED_BYTES);
}

/* Adds the bytes of code read to *@bytes. Returns 0 or -ENOMEM. */
static int build_xray(struct code_entries *entries, uint64_t address,
		      uint64_t *bytes)
{
	struct code_piece *piece = code_pieces_at(entries->pieces, address);
	int err;

	if (piece == entries->built)
		return 0;
	entries->built = piece;
	entries->group.member_count = 0;
	if (!piece)
		return 0;
	err = code_group_build(&entries->group, piece);
	entries->found->decoded += entries->group.ops.count;
	*bytes += piece->bytes;
	if (err || entries->group.is_cut || entries->group.too_large ||
	    !code_r11_enters(&entries->group, &entries->scratch))
		return err;
	return refuse_group_entry(entries, address, CODE_VALUE_IN_R11, address);
}

/* Returns 1 if the instruction at @at is a jump, 0 if not, or -ENOMEM. */
static int decode_tail(struct code_entries *entries, uint64_t at,
		       struct code_op *op)
{
	const uint8_t *code = NULL;
	unsigned int bytes = 16;
	struct code_ops *ops = &entries->scratch.ops;
	int err;

	while (bytes && !(code = code_file_at(entries->file, at, bytes)))
		bytes--;
	ops->count = entries->scratch.member_count = 0;
	err = code_decode(code, bytes, at, ops, &entries->file->budget);
	if (err || !ops->count)
		return err;
	*op = ops->list[0];
	return op->kind >= CODE_OP_JUMP && op->kind <= CODE_OP_JUMP_TABLE;
}

/* Returns 1 if a tail jump follows the sled, 0 if not, or -ENOMEM. */
static int take_tail(struct code_entries *entries, struct code_use *use)
{
	const struct code_member *member =
		code_group_member(&entries->group, use->site);
	struct code_op op;
	size_t number;
	int good = decode_tail(entries, use->site + SLED_BYTES, &op);

	if (good == 1)
		use->r11_live =
			!member ||
			!code_group_find(&entries->group, use->site, &number) ||
			needs_r11(entries, member, number, &op);
	return good;
}

static int take_sled(struct code_entries *entries, uint64_t at,
		     uint64_t function, uint8_t kind)
{
	static const uint8_t forms[] = { CODE_XRAY_ENTRY, CODE_XRAY_EXIT,
					 CODE_XRAY_TAIL, CODE_XRAY_ENTRY };
	struct code_use use = { .site = at,
				.address = function,
				.form = forms[kind],
				.length = SLED_BYTES,
				.is_exit =
					kind == SLED_EXIT || kind == SLED_TAIL,
				.entry_build = true,
				.is_known = true };
	int good = is_sled(entries->file, at, kind);

	if (good && kind == SLED_TAIL)
		good = take_tail(entries, &use);
	if (good < 0)
		return good;
	return good ? code_found_use(entries->found, &use)
		    : refuse_group_entry(entries, function, CODE_UNKNOWN_FORM,
					 at);
}

/* Returns false if row @number of XRay's table is none of a function. */
static bool read_xray_row(const struct code_entries *entries, size_t number,
			  uint64_t *sled, uint64_t *function, uint8_t *kind)
{
	const uint64_t at = entries->file->xray.vaddr + number * XRAY_BYTES;
	const uint8_t *entry = code_file_at(entries->file, at, XRAY_BYTES);
	struct {
		uint64_t sled, function;
		uint8_t kind, always, version;
	} row;

	if (!entry)
		return false;
	memcpy(&row, entry, 19);
	*sled = at + row.sled;
	*function = at + 8 + row.function;
	*kind = row.kind;
	return row.version == XRAY_VERSION && row.kind < SLED_EVENT &&
	       code_file_text(entries->file, *function);
}

static int take_xray(struct code_entries *entries, size_t number,
		     uint64_t *bytes)
{
	uint64_t sled, function;
	uint8_t kind;
	int err;

	if (!read_xray_row(entries, number, &sled, &function, &kind) ||
	    code_moves_find(entries->moves, function))
		return 0;
	err = build_xray(entries, function, bytes);
	return err ? err : take_sled(entries, sled, function, kind);
}

/* --- both ---------------------------------------------------------------- */

static size_t count_rows(const struct code_file *file,
			 const struct code_section *section, uint32_t kind,
			 size_t bytes)
{
	return file->entry_kinds >> kind & 1 ? section->bytes / bytes : 0;
}

static size_t count_gcc_rows(const struct code_file *file)
{
	return count_rows(file, &file->gcc_entries, ENTRY_GCC, GCC_BYTES);
}

static size_t count_xray_rows(const struct code_file *file)
{
	return count_rows(file, &file->xray, ENTRY_XRAY, XRAY_BYTES);
}

void code_entries_mark(struct code_entries *entries)
{
	const size_t gcc = count_gcc_rows(entries->file);
	const size_t xray = count_xray_rows(entries->file);

	for (size_t i = 0; i < gcc; i++) {
		uint64_t call;
		struct code_piece *piece = gcc_piece(entries, i, &call);

		/* Functions that are only jumped to are entries: a jump to one
		 * is an exit. */
		if (piece && call - piece->start <= sizeof(g_endbr))
			piece->is_entry = piece->has_hooks = true;
	}
	for (size_t i = 0; i < xray; i++) {
		uint64_t sled, function;
		uint8_t kind;
		struct code_piece *piece;

		if (!read_xray_row(entries, i, &sled, &function, &kind))
			continue;
		piece = code_pieces_at(entries->pieces, function);
		if (piece && piece->start == function)
			piece->has_hooks = true;
	}
}

int code_entries_step(struct code_entries *entries, uint64_t bytes)
{
	const size_t gcc = count_gcc_rows(entries->file);
	const size_t all = gcc + count_xray_rows(entries->file);
	uint64_t done = 0;
	int err = 0;

	entries->group.file = entries->file;
	entries->group.pieces = entries->pieces;
	entries->scratch.file = entries->file;
	entries->scratch.pieces = entries->pieces;
	while (!err && entries->next < all && done <= bytes) {
		size_t number = entries->next++;

		done += SLED_BYTES;
		err = number < gcc ? take_gcc(entries, number, &done)
				   : take_xray(entries, number - gcc, &done);
	}
	return err ? err : entries->next < all;
}

void code_entries_release(struct code_entries *entries)
{
	code_group_release(&entries->group);
	code_group_release(&entries->scratch);
}
