/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_moves.h"

#include <Zydis/Zydis.h>
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/code/code_facts.h"
#include "collector/code/code_file.h"
#include "collector/code/code_found.h"
#include "collector/code/code_stub.h"
#include "collector/names/unwind_cfi.h"
#include "shared/compiler.h"
#include "shared/function_shm.h"

#define INSTRUCTIONS_MAX 6
#define FIXES_MAX 8
#define RETURN_REGISTER 16

/* The move that is being prepared. */
struct draft {
	const struct code_facts *facts;
	const struct code_piece *piece;
	const struct code_fact *fact;
	struct code_move move;
	uint64_t start; /* of the displaced instructions */
	uint8_t body[MOVE_BODY_MAX + ZYDIS_MAX_INSTRUCTION_LENGTH];
	uint8_t frame[MOVE_FRAME_MAX + 16];
	struct code_fix fix[FIXES_MAX];
	/* Of each displaced instruction, and of their end: the offset from
	 * @start, and in the body. */
	uint8_t from[INSTRUCTIONS_MAX + 1], to[INSTRUCTIONS_MAX + 1];
	unsigned int count;
	uint64_t frame_at; /* how far the frame description has come */
	bool ends; /* the last one never continues */
	enum code_refusal refused;
};

/* --- the body ------------------------------------------------------------- */

static bool put_fix(struct draft *draft, uint64_t target, uint8_t at,
		    uint8_t next)
{
	if (draft->move.fixes == FIXES_MAX)
		return false;
	draft->fix[draft->move.fixes++] =
		(struct code_fix){ .target = target, .at = at, .next = next };
	return true;
}

static bool put_jump(struct draft *draft, const uint8_t *opcode, uint8_t bytes,
		     uint64_t target)
{
	const uint8_t at = draft->move.body + bytes;

	memcpy(draft->body + draft->move.body, opcode, bytes);
	draft->move.body = at + 4;
	return put_fix(draft, target, at, at + 4);
}

/* The call's return address lies in the thunk, so only a known function, which
 * does not use it, may be called. Returns true if that holds. */
static bool may_call(const struct draft *draft, uint64_t target)
{
	const struct code_pieces *pieces = draft->facts->pieces;
	const struct code_piece *piece = code_pieces_at(pieces, target);
	uint64_t slot;

	return piece && piece->start == target && !draft->piece->lsda &&
	       !(draft->facts->list[piece - pieces->list].what &
		 (FACT_READS_RETURN | FACT_TAIL_UNKNOWN | FACT_UNDECODED |
		  FACT_SWITCHES_STACK | FACT_ODD_FRAME)) &&
	       !code_file_stub(draft->facts->file, target, &slot);
}

static enum code_refusal move_jump(struct draft *draft,
				   const ZydisDecodedInstruction *in,
				   uint64_t next)
{
	const uint64_t target = next + (uint64_t)in->raw.imm[0].value.s;
	uint8_t opcode[2] = { 0x0f, 0x80 | (in->opcode & 15) };
	bool fits;

	switch (in->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		if (code_facts_is_stub(draft->facts, target))
			return CODE_NOT_REFUSED;
		if (!may_call(draft, target))
			return CODE_CALLS_EARLY;
		fits = put_jump(draft, (const uint8_t *)"\xe8", 1, target);
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		fits = put_jump(draft, (const uint8_t *)"\xe9", 1, target);
		break;
	case ZYDIS_CATEGORY_COND_BR:
		/* 0x70 to 0x7f, and 0x0f 0x80 to 0x8f. The others are loop and
		 * jrcxz. */
		if ((in->opcode & 0xf0) != 0x70 && (in->opcode & 0xf0) != 0x80)
			return CODE_NOT_RELOCATABLE;
		fits = put_jump(draft, opcode, 2, target);
		break;
	default: /* xbegin */
		return CODE_NOT_RELOCATABLE;
	}
	return fits ? CODE_NOT_REFUSED : CODE_NOT_RELOCATABLE;
}

static enum code_refusal move_instruction(struct draft *draft,
					  const ZydisDecodedInstruction *in,
					  const uint8_t *code, uint64_t at)
{
	const uint64_t next = at + in->length;
	const uint8_t body = draft->move.body;

	if (in->meta.category == ZYDIS_CATEGORY_CALL &&
	    !in->raw.imm[0].is_relative)
		return CODE_CALLS_EARLY;
	if (in->raw.imm[0].is_relative)
		return move_jump(draft, in, next);
	memcpy(draft->body + body, code, in->length);
	draft->move.body += in->length;
	if (in->attributes & ZYDIS_ATTRIB_HAS_MODRM && !in->raw.modrm.mod &&
	    in->raw.modrm.rm == 5 &&
	    !put_fix(draft, next + (uint64_t)in->raw.disp.value,
		     body + in->raw.disp.offset, body + in->length))
		return CODE_NOT_RELOCATABLE;
	return CODE_NOT_REFUSED;
}

static bool never_continues(const ZydisDecodedInstruction *in)
{
	return in->meta.category == ZYDIS_CATEGORY_RET ||
	       in->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       in->mnemonic == ZYDIS_MNEMONIC_UD2 ||
	       in->mnemonic == ZYDIS_MNEMONIC_HLT;
}

/* Returns true if the bytes behind the piece, up to the end of the jump, are
 * there and belong to nothing. */
static bool has_padding(const struct draft *draft, const ZydisDecoder *decoder)
{
	const struct code_pieces *pieces = draft->facts->pieces;
	const size_t next = (size_t)(draft->piece - pieces->list) + 1;
	const uint64_t end = draft->start + MOVE_JUMP_BYTES;
	uint64_t at = draft->piece->start + draft->piece->bytes;

	if (next < pieces->count && pieces->list[next].start < end)
		return false;
	while (at < end) {
		const uint8_t *code = code_file_at(draft->facts->file, at, 1);
		uint64_t room = 1;
		ZydisDecodedInstruction in;

		while (room < ZYDIS_MAX_INSTRUCTION_LENGTH &&
		       code_file_at(draft->facts->file, at, room + 1))
			room++;
		if (!code || !code_file_text(draft->facts->file, at))
			return false;
		if (*code == 0xcc) {
			at++;
			continue;
		}
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(
			    decoder, NULL, code, room, &in)) ||
		    (in.mnemonic != ZYDIS_MNEMONIC_NOP &&
		     (in.length != 2 || memcmp(code, "\x66\x90", 2) != 0)))
			return false;
		at += in.length;
	}
	return true;
}

static enum code_refusal move_body(struct draft *draft)
{
	const uint64_t end = draft->piece->start + draft->piece->bytes;
	enum code_refusal refused;
	ZydisDecodedInstruction in;
	ZydisDecoder decoder;
	uint64_t at = draft->start;

	if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					 ZYDIS_STACK_WIDTH_64)))
		return CODE_UNDECODED;
	while (at < draft->start + MOVE_JUMP_BYTES && at < end) {
		const uint8_t *code =
			code_file_at(draft->facts->file, at, end - at);

		if (!code || draft->count == INSTRUCTIONS_MAX ||
		    ZYAN_FAILED(ZydisDecoderDecodeInstruction(
			    &decoder, NULL, code, end - at, &in)))
			return CODE_UNDECODED;
		draft->from[draft->count] = (uint8_t)(at - draft->start);
		draft->to[draft->count++] = draft->move.body;
		refused = move_instruction(draft, &in, code, at);
		if (refused)
			return refused;
		if (draft->move.body > MOVE_BODY_MAX - MOVE_JUMP_BYTES)
			return CODE_NOT_RELOCATABLE;
		at += in.length;
		draft->ends = never_continues(&in);
	}
	draft->move.displaced = (uint8_t)(at - draft->start);
	draft->from[draft->count] = draft->move.displaced;
	draft->to[draft->count] = draft->move.body;
	if (at < draft->start + MOVE_JUMP_BYTES &&
	    (!draft->ends || !has_padding(draft, &decoder)))
		return CODE_TOO_SHORT;
	if (!draft->ends && !put_jump(draft, (const uint8_t *)"\xe9", 1, at))
		return CODE_NOT_RELOCATABLE;
	return CODE_NOT_REFUSED;
}

/* --- the frame description ------------------------------------------------ */

static void put_frame_byte(struct draft *draft, uint64_t value)
{
	if (draft->move.frame < MOVE_FRAME_MAX)
		draft->frame[draft->move.frame++] = (uint8_t)value;
	else
		draft->refused = CODE_ODD_FRAME;
}

static void put_frame_leb(struct draft *draft, uint64_t value)
{
	for (; value > 127; value >>= 7)
		put_frame_byte(draft, (value & 127) | 128);
	put_frame_byte(draft, value);
}

/* Puts an advance to the instruction that @at is, or comes before. */
static void put_frame_advance(struct draft *draft, uint64_t at)
{
	unsigned int i = 0;

	while (i < draft->count && draft->start + draft->from[i] < at)
		i++;
	if (draft->to[i] > draft->frame_at)
		put_frame_byte(draft, DW_CFA_advance_loc |
					      (draft->to[i] - draft->frame_at));
	draft->frame_at = draft->to[i];
}

/* Puts the instructions for displaced code. The frame starts as that of any
 * function, which is what the common entry says. */
static bool take_frame_step(void *context, const struct cfi_step *step)
{
	struct draft *draft = context;

	if (step->at <= draft->start) {
		bool is_usual = step->op == DW_CFA_def_cfa ||
				(step->op == DW_CFA_offset &&
				 step->operand[0] == RETURN_REGISTER);

		if (!is_usual)
			draft->refused = CODE_ODD_FRAME;
		return is_usual;
	}
	if (step->at > draft->start + draft->move.displaced)
		return false;
	put_frame_advance(draft, step->at);
	switch (step->op) {
	case DW_CFA_def_cfa:
		put_frame_byte(draft, step->op);
		put_frame_leb(draft, step->operand[0]);
		put_frame_leb(draft, step->operand[1]);
		break;
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
		put_frame_byte(draft, step->op);
		put_frame_leb(draft, step->operand[0]);
		break;
	case DW_CFA_offset:
		put_frame_byte(draft, step->op | step->operand[0]);
		put_frame_leb(draft, (0 - step->operand[1]) / 8);
		break;
	case DW_CFA_restore:
		put_frame_byte(draft, step->op | step->operand[0]);
		break;
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		put_frame_byte(draft, step->op);
		break;
	default:
		draft->refused = CODE_ODD_FRAME;
	}
	return !draft->refused;
}

static enum code_refusal move_frame(struct draft *draft)
{
	const struct cfi_reader reader = { code_file_copy, draft->facts->file };

	if (!unwind_cfi_steps(&reader, draft->piece->frame, take_frame_step,
			      draft))
		return CODE_ODD_FRAME;
	return draft->refused;
}

/* --- deciding ------------------------------------------------------------- */

static enum code_refusal refusal_of_facts(const struct code_fact *fact)
{
	static const struct {
		uint32_t what;
		enum code_refusal refused;
	} rows[] = {
		{ FACT_UNDECODED, CODE_UNDECODED },
		{ FACT_ODD_FRAME, CODE_ODD_FRAME },
		{ FACT_LOOPS, CODE_ENTERED_WITHIN },
		{ FACT_READS_RETURN, CODE_READS_RETURN },
		{ FACT_SWITCHES_STACK, CODE_SWITCHES_STACK },
		{ FACT_REALIGNS, CODE_ARGUMENTS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (fact->what & rows[i].what)
			return rows[i].refused;
	if (fact->what & FACT_ADDRESSES_ARGUMENTS)
		return fact->what & FACT_TESTS_AL ? CODE_VARIABLE_ARGUMENTS
						  : CODE_ARGUMENTS;
	return fact->arguments > MOVE_ARGUMENTS_MAX * 8 ? CODE_ARGUMENTS
							: CODE_NOT_REFUSED;
}

/* Returns true if something leads to a byte of the jump but the first one. */
static bool is_entered_within(const struct draft *draft)
{
	const uint32_t label = FACT_POINTED_TO | FACT_GOES_TO;
	const unsigned int first = draft->move.before;
	const unsigned int end =
		first + MAX(draft->move.displaced, MOVE_JUMP_BYTES);

	/* Its start may be the target of its computed goto. */
	if ((draft->fact->what & label) == label)
		return true;
	for (unsigned int i = first ? first : 1; i < end; i++)
		if (i >= CODE_ENTERED_BYTES || draft->fact->entered >> i & 1)
			return true;
	return false;
}

/* Returns true if an exception of a displaced instruction would be caught here.
 * Thunks have no landing pads. */
static bool may_land(struct draft *draft)
{
	const uint64_t end = draft->start + draft->move.displaced;
	struct code_landings landings = { 0 };
	bool found = code_piece_landings(draft->piece, draft->facts->file,
					 &landings) < 0;

	for (size_t i = 0; i < landings.count; i++)
		found |= landings.list[i].start < end &&
			 landings.list[i].end > draft->start;
	budget_give(&draft->facts->file->budget,
		    landings.room * sizeof(*landings.list));
	free(landings.list);
	return found;
}

static enum code_refusal prepare_move(struct draft *draft)
{
	const uint32_t what = draft->fact->what;
	enum code_refusal refused = refusal_of_facts(draft->fact);
	uint32_t arguments = draft->fact->arguments;

	if (!refused)
		refused = move_body(draft);
	if (!refused && is_entered_within(draft))
		refused = CODE_ENTERED_WITHIN;
	if (!refused && may_land(draft))
		refused = CODE_CATCHES_EARLY;
	if (!refused)
		refused = move_frame(draft);
	if (what & FACT_TAIL_UNKNOWN)
		arguments = MAX(arguments, THUNK_UNKNOWN_BYTES);
	draft->move.arguments = (uint8_t)((arguments + 7) / 8);
	draft->move.is_unknown = (what & FACT_TAIL_UNKNOWN) != 0;
	draft->move.is_wide = !(what & FACT_ALIGNS_16) &&
			      (what & (FACT_ALIGNED | FACT_TAIL_UNKNOWN)) != 0;
	return refused;
}

static int add_move(struct code_moves *moves, struct draft *draft)
{
	struct budget *budget = &draft->facts->file->budget;
	struct code_move *move = &draft->move;
	size_t size = code_move_size(move);
	uint8_t *at;

	if (moves->byte_count + size > UINT32_MAX ||
	    grow_array_from(budget, moves->list, moves->room,
			    moves->count + 1) ||
	    grow_array_from(budget, moves->bytes, moves->byte_room,
			    moves->byte_count + size))
		return -ENOMEM;
	move->first = (uint32_t)moves->byte_count;
	at = moves->bytes + move->first;
	code_file_copy(draft->facts->file, draft->start, at, move->displaced);
	at += move->displaced;
	memcpy(at, draft->body, move->body);
	at += move->body;
	memcpy(at, draft->frame, move->frame);
	at += move->frame;
	memcpy(at, draft->fix, move->fixes * sizeof(draft->fix[0]));
	moves->byte_count += size;
	moves->list[moves->count++] = *move;
	return 0;
}

int code_moves_try(struct code_moves *moves, const struct code_facts *facts,
		   size_t index, struct code_found *found, uint8_t *refusal)
{
	const struct code_piece *piece = &facts->pieces->list[index];
	struct draft draft = { .facts = facts,
			       .piece = piece,
			       .fact = &facts->list[index],
			       .move = { .address = piece->start } };
	struct code_use use = { .address = piece->start,
				.form = CODE_MOVED,
				.length = MOVE_JUMP_BYTES,
				.entry_build = true,
				.is_known = true };
	char endbr[4];
	int err;

	if (piece->bytes > sizeof(endbr) &&
	    code_file_copy(facts->file, piece->start, endbr, sizeof(endbr)) &&
	    !memcmp(endbr, "\xf3\x0f\x1e\xfa", sizeof(endbr)))
		draft.move.before = sizeof(endbr);
	use.site = draft.start = piece->start + draft.move.before;
	*refusal = (uint8_t)prepare_move(&draft);
	if (*refusal)
		return 0;
	err = add_move(moves, &draft);
	return err ? err : code_found_use(found, &use);
}

int code_moves_add(struct code_moves *moves, const struct code_facts *facts,
		   size_t index, struct code_found *found)
{
	const struct code_piece *piece = &facts->pieces->list[index];
	struct code_blame blame = { .address = piece->start,
				    .at = piece->start,
				    .refusal = CODE_ONLY_JUMPED_TO,
				    .is_function = true };

	if (!code_facts_is_nameless(facts, index)) {
		int err = 0;

		blame.refusal = CODE_NOT_REFUSED;
		if (code_facts_is_function(facts, index))
			err = code_moves_try(moves, facts, index, found,
					     &blame.refusal);
		if (err || !blame.refusal)
			return err;
	}
	return code_found_blame(found, &blame);
}

const struct code_move *code_moves_find(const struct code_moves *moves,
					uint64_t address)
{
	size_t at = search_first(i, moves->count,
				 moves->list[i].address >= address);

	return at < moves->count && moves->list[at].address == address
		       ? &moves->list[at]
		       : NULL;
}

bool code_moves_hold(const struct code_moves *moves)
{
	for (size_t i = 0; i < moves->count; i++) {
		const struct code_move *move = &moves->list[i];
		size_t fixes =
			(size_t)move->displaced + move->body + move->frame;

		if (move->before > 4 || move->displaced > MOVE_DISPLACED_MAX ||
		    move->body > MOVE_BODY_MAX ||
		    move->frame > MOVE_FRAME_MAX ||
		    move->arguments > MOVE_ARGUMENTS_MAX || move->is_wide > 1 ||
		    move->is_unknown > 1 || move->first > moves->byte_count ||
		    code_move_size(move) > moves->byte_count - move->first)
			return false;
		for (size_t j = 0; j < move->fixes; j++) {
			struct code_fix fix;

			memcpy(&fix,
			       moves->bytes + move->first + fixes +
				       j * sizeof(fix),
			       sizeof(fix));
			if (fix.at + 4u > move->body || fix.next > move->body)
				return false;
		}
	}
	return true;
}

void code_moves_release(struct code_moves *moves)
{
	free(moves->list);
	free(moves->bytes);
	*moves = (struct code_moves){ 0 };
}
