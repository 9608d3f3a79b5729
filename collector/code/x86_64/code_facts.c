/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_facts.h"

#include <Zydis/Zydis.h>
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/code/code_decode.h"
#include "collector/code/code_file.h"
#include "collector/code/code_returns.h"
#include "collector/code/code_stub.h"
#include "collector/names/unwind_cfi.h"
#include "shared/compiler.h"

#define FUNCTION_ALIGNMENT 16 /* of gcc and clang; not with -Os */
/* DWARF's numbers (x86-64 psABI 3.6.2). */
#define BASE_RBP 6
#define BASE_RSP 7
#define BASE_OTHER 255
#define RETURN_ADDRESS 16

#define TABLES_MAX 1024
#define LABELS_MAX 16
#define TABLE_ENTRIES_MAX 4096
/* Of a piece: each of its tables is also read relative to each of its labels. */
#define ENTRIES_MAX (TABLES_MAX * TABLE_ENTRIES_MAX)
#define REMEMBERED_MAX 16
#define ROUNDS_MAX 64 /* of passing facts on */
/* How many instructions after a load from a table the jump comes. */
#define TABLE_LIFE 6
/* gcc saves the old stack pointer so early. */
#define REALIGN_BYTES 16

/* --- frame descriptions --------------------------------------------------- */

struct row_reader {
	struct code_facts *facts;
	struct code_fact *fact;
	struct code_row row, remembered[REMEMBERED_MAX];
	size_t remembered_count;
};

static bool take_row(void *context, const struct cfi_step *step)
{
	struct row_reader *reader = context;
	struct code_facts *facts = reader->facts;
	struct code_row *row = &reader->row;

	switch (step->op) {
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		row->base = (uint8_t)MIN(step->operand[0], BASE_OTHER);
		row->offset = (int64_t)step->operand[1];
		break;
	case DW_CFA_def_cfa_register:
		row->base = (uint8_t)MIN(step->operand[0], BASE_OTHER);
		break;
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
		row->offset = (int64_t)step->operand[0];
		break;
	case DW_CFA_def_cfa_expression:
		row->base = BASE_OTHER;
		break;
	case DW_CFA_remember_state:
		if (reader->remembered_count < REMEMBERED_MAX)
			reader->remembered[reader->remembered_count++] = *row;
		return true;
	case DW_CFA_restore_state:
		if (reader->remembered_count)
			*row = reader->remembered[--reader->remembered_count];
		break;
	default:
		if (step->op != DW_CFA_offset &&
		    step->operand[0] == RETURN_ADDRESS)
			reader->fact->what |= FACT_NO_CALLER;
		return true;
	}
	row->at = step->at;
	if (facts->row_count && facts->rows[facts->row_count - 1].at == row->at)
		facts->row_count--;
	facts->err = grow_array_from(&facts->file->budget, facts->rows,
				     facts->row_room, facts->row_count + 1);
	if (!facts->err)
		facts->rows[facts->row_count++] = *row;
	return !facts->err;
}

static void read_frame_rows(struct code_facts *facts,
			    const struct code_piece *piece,
			    struct code_fact *fact)
{
	const struct cfi_reader bytes = { code_file_copy, facts->file };
	struct row_reader reader = { .facts = facts, .fact = fact };

	facts->row_count = 0;
	if (!piece->frame ||
	    !unwind_cfi_steps(&bytes, piece->frame, take_row, &reader))
		fact->what |= FACT_ODD_FRAME;
	else if (facts->row_count && facts->rows[0].base == BASE_RSP &&
		 facts->rows[0].offset == 8)
		fact->what |= FACT_BEGINS;
}

/* --- ways in -------------------------------------------------------------- */

/* Something leads to @address; if that is the start of a piece, its facts get
 * @how. */
static void enter_at(struct code_facts *facts, uint64_t address, uint32_t how)
{
	const struct code_piece *piece = code_pieces_at(facts->pieces, address);
	struct code_fact *fact;

	if (!piece)
		return;
	fact = &facts->list[piece - facts->pieces->list];
	if (address == piece->start)
		fact->what |= how;
	else if (address - piece->start < CODE_ENTERED_BYTES)
		fact->entered |= 1u << (address - piece->start);
}

static void enter_by_data(struct code_facts *facts,
			  const struct code_segment *segment)
{
	for (uint64_t i = -segment->vaddr & 7; i + 8 <= segment->bytes;
	     i += 8) {
		uint64_t word;

		memcpy(&word, segment->at + i, sizeof(word));
		if (code_file_text(facts->file, word))
			enter_at(facts, word, FACT_USED | FACT_POINTED_TO);
	}
}

static void enter_by_pointers(struct code_facts *facts)
{
	const struct code_file *file = facts->file;

	for (size_t i = 0; i < file->reloc_count; i++)
		if (file->relocs[i].kind == CODE_RELATIVE ||
		    file->relocs[i].kind == CODE_SYMBOL)
			enter_at(facts, file->relocs[i].value,
				 file->relocs[i].kind == CODE_RELATIVE
					 ? FACT_USED | FACT_POINTED_TO
					 : FACT_USED);
	for (size_t i = 0; file->is_fixed && i < file->segment_count; i++)
		if (!file->segment[i].is_executable)
			enter_by_data(facts, &file->segment[i]);
}

/* --- instructions --------------------------------------------------------- */

struct place {
	struct code_facts *facts;
	const struct code_piece *piece;
	struct code_fact *fact;
	const uint8_t *code; /* of the instruction */
	uint64_t at;
	const struct code_row *row; /* NULL: unknown */
	ZydisDecodedInstruction in;
	ZydisDecoderContext context;
	/* More than 0 for some instructions after an entry of a table was read,
	 * after the table's address was added to it, and after one of 8 bytes
	 * was read, which may be the address of a label. */
	unsigned int table_life, sum_life, label_life;
	bool has_table_jump;
	bool continues; /* the last instruction does, or may */
	/* Places in the piece whose addresses it takes: tables may be relative
	 * to them. */
	uint64_t label[LABELS_MAX];
	unsigned int label_count;
};

static bool is_based_on(const struct place *place, uint8_t base)
{
	return place->row && place->row->base == base;
}

/* Returns true if the return address is on top of the stack. */
static bool is_frameless(const struct place *place)
{
	return is_based_on(place, BASE_RSP) && place->row->offset == 8;
}

/* The piece jumps, with the return address on top of the stack, to what the
 * slot at address @slot leads to; 0: to anything. */
static void leave_by_slot(struct place *place, uint64_t slot)
{
	const struct code_reloc *reloc =
		slot ? code_file_reloc(place->facts->file, slot) : NULL;

	place->fact->what |= FACT_TAIL_UNKNOWN;
	if (reloc && reloc->kind == CODE_LOOKS_AT_CALLER)
		place->fact->what |= FACT_READS_RETURN;
}

static void take_relative_jump(struct place *place, uint64_t target)
{
	struct code_facts *facts = place->facts;
	const struct code_piece *to = code_pieces_at(facts->pieces, target);
	uint64_t slot;

	if (to == place->piece) {
		enter_at(facts, target, FACT_LOOPS);
		return;
	}
	if (!to || code_file_stub(facts->file, target, &slot)) {
		if (is_frameless(place))
			leave_by_slot(place, to ? slot : 0);
		return;
	}
	enter_at(facts, target, FACT_JUMPED_TO);
	facts->err = grow_array_from(&facts->file->budget, facts->edges,
				     facts->edge_room, facts->edge_count + 1);
	if (!facts->err)
		facts->edges[facts->edge_count++] = (struct code_edge){
			(uint32_t)(place->piece - facts->pieces->list),
			(uint32_t)(to - facts->pieces->list)
		};
}

static bool has_memory_operand(const struct place *place)
{
	return place->in.attributes & ZYDIS_ATTRIB_HAS_MODRM &&
	       place->in.raw.modrm.mod != 3;
}

static bool is_rip_relative(const struct place *place)
{
	return has_memory_operand(place) && !place->in.raw.modrm.mod &&
	       place->in.raw.modrm.rm == 5;
}

static uint64_t rip_target(const struct place *place)
{
	return place->at + place->in.length +
	       (uint64_t)place->in.raw.disp.value;
}

/* A jump by a table stays in the function, but may be a tail call as well. */
static void take_other_jump(struct place *place)
{
	const bool is_indexed = has_memory_operand(place) &&
				place->in.raw.modrm.rm == 4 &&
				place->in.raw.sib.index != 4;

	place->has_table_jump = true;
	if (place->label_life || is_indexed)
		place->fact->what |= FACT_GOES_TO;
	if (is_frameless(place) && (!place->sum_life || is_indexed))
		leave_by_slot(place,
			      is_rip_relative(place) ? rip_target(place) : 0);
}

/* A call into the middle of a piece is made for its return address, as that of a
 * retpoline, which then replaces the address. */
static void take_relative_call(struct place *place, uint64_t target)
{
	const struct code_piece *to =
		code_pieces_at(place->facts->pieces, target);
	uint64_t slot;

	enter_at(place->facts, target, FACT_USED);
	if (to && to->start != target &&
	    !code_file_stub(place->facts->file, target, &slot))
		place->fact->what |= FACT_TAIL_UNKNOWN | FACT_UNDECODED;
}

static void take_jump_or_call(struct place *place)
{
	const bool is_relative = place->in.raw.imm[0].is_relative;
	const uint64_t target = place->at + place->in.length +
				(uint64_t)place->in.raw.imm[0].value.s;

	if (place->in.meta.category == ZYDIS_CATEGORY_CALL) {
		/* That call relies on no alignment. */
		if (is_relative && code_facts_is_stub(place->facts, target))
			return;
		place->fact->what |= FACT_CALLS;
		if (is_based_on(place, BASE_RSP) &&
		    (place->row->offset & 31) == 16)
			place->fact->what |= FACT_ALIGNS_16;
		if (is_relative)
			take_relative_call(place, target);
	} else if (is_relative) {
		take_relative_jump(place, target);
	} else {
		take_other_jump(place);
	}
}

/* Returns false if there are too many. */
static bool add_fact_table(struct code_facts *facts, uint64_t address)
{
	if (facts->table_count == TABLES_MAX)
		return false;
	facts->err = grow_array_from(&facts->file->budget, facts->tables,
				     facts->table_room, facts->table_count + 1);
	if (!facts->err)
		facts->tables[facts->table_count++] = address;
	return true;
}

/* The operand lies @distance bytes from the end of the return address. */
static void take_stack_operand(struct place *place,
			       const ZydisDecodedOperand *operand,
			       int64_t distance)
{
	const ZydisDecodedInstruction *in = &place->in;
	const bool is_indexed = operand->mem.index != ZYDIS_REGISTER_NONE;
	const int64_t end = distance + operand->size / 8;
	const bool is_barrier = in->mnemonic == ZYDIS_MNEMONIC_OR &&
				in->attributes & ZYDIS_ATTRIB_HAS_LOCK;

	if (in->mnemonic == ZYDIS_MNEMONIC_LEA) {
		/* Into rsp: it releases its frame. */
		if (distance < -8 || (in->raw.modrm.reg == 4 && !in->raw.rex.R))
			return;
		place->fact->what |= FACT_ADDRESSES_ARGUMENTS;
		if (!distance && is_frameless(place) &&
		    place->at - place->piece->start < REALIGN_BYTES)
			place->fact->what |= FACT_REALIGNS;
	} else if (is_indexed) {
		/* With a bias the index may lead from the frame to the
		 * arguments. */
		place->fact->what |= FACT_ADDRESSES_ARGUMENTS;
	} else if (distance >= 0) {
		place->fact->arguments = (uint16_t)MAX(place->fact->arguments,
						       MIN(end, UINT16_MAX));
	} else if (end > -8 && !is_barrier) {
		place->fact->what |= FACT_READS_RETURN;
	}
}

static void take_memory(struct place *place, const ZydisDecoder *decoder)
{
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT_VISIBLE];
	const uint8_t rm = place->in.raw.modrm.rm;

	if (place->in.mnemonic == ZYDIS_MNEMONIC_NOP ||
	    (rm != 5 && (rm != 4 || (place->in.raw.sib.base != 4 &&
				     place->in.raw.sib.base != 5))) ||
	    ZYAN_FAILED(ZydisDecoderDecodeOperands(
		    decoder, &place->context, &place->in, operand,
		    place->in.operand_count_visible)))
		return;
	for (uint8_t i = 0; i < place->in.operand_count_visible; i++) {
		const uint8_t base = operand[i].mem.base == ZYDIS_REGISTER_RSP
					     ? BASE_RSP
				     : operand[i].mem.base == ZYDIS_REGISTER_RBP
					     ? BASE_RBP
					     : BASE_OTHER;

		if (operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operand[i].mem.segment != ZYDIS_REGISTER_FS &&
		    base != BASE_OTHER && is_based_on(place, base))
			take_stack_operand(place, &operand[i],
					   operand[i].mem.disp.value -
						   place->row->offset);
	}
}

/* The registers of a mov, an xchg by a mod-rm byte, or an xchg with rax. */
struct moved_registers {
	unsigned int to, from;
};

static struct moved_registers moved_registers_of(
	const ZydisDecodedInstruction *in)
{
	const unsigned int reg = in->raw.modrm.reg | in->raw.rex.R << 3;
	const unsigned int rm = in->raw.modrm.mod == 3
					? in->raw.modrm.rm | in->raw.rex.B << 3
					: CODE_NO_REGISTER;

	if (in->operand_width != 64)
		return (struct moved_registers){ CODE_NO_REGISTER,
						 CODE_NO_REGISTER };
	switch (in->opcode) {
	case 0x87:
	case 0x89:
		return (struct moved_registers){ .to = rm, .from = reg };
	case 0x8b:
		return (struct moved_registers){ .to = reg, .from = rm };
	case 0x94: /* xchg %rax, %rsp */
		return (struct moved_registers){ .to = CODE_RSP |
						       in->raw.rex.B << 3 };
	default:
		return (struct moved_registers){ CODE_NO_REGISTER,
						 CODE_NO_REGISTER };
	}
}

/* Returns true for an instruction that sets rsp to the value of a register that
 * is not the frame pointer of its frame. */
static bool switches_stack(const struct place *place)
{
	const struct moved_registers registers = moved_registers_of(&place->in);

	if (is_based_on(place, BASE_RBP))
		return false;
	if (place->in.mnemonic == ZYDIS_MNEMONIC_XCHG)
		return registers.to == CODE_RSP || registers.from == CODE_RSP;
	return place->in.mnemonic == ZYDIS_MNEMONIC_MOV &&
	       registers.to == CODE_RSP && registers.from != CODE_RBP;
}

/* Returns true for an instruction that copies rsp to a register while rsp is so
 * near the return address that arguments may be addressed by it. The frame
 * pointer of a usual frame is known. */
static bool keeps_stack_address(const struct place *place)
{
	const struct moved_registers registers = moved_registers_of(&place->in);

	return place->in.mnemonic == ZYDIS_MNEMONIC_MOV &&
	       is_based_on(place, BASE_RSP) && place->row->offset <= 16 &&
	       registers.from == CODE_RSP && registers.to != CODE_NO_REGISTER &&
	       !(registers.to == CODE_RBP && place->row->offset == 16);
}

static void take_fixed_address(struct place *place)
{
	const ZydisDecodedInstruction *in = &place->in;

	if (in->raw.imm[0].size >= 32 && !in->raw.imm[0].is_relative &&
	    code_file_text(place->facts->file, in->raw.imm[0].value.u))
		enter_at(place->facts, in->raw.imm[0].value.u, FACT_USED);
}

/* A call that ends a piece is made to a function that never returns. */
static bool may_continue(const ZydisDecodedInstruction *in)
{
	return in->mnemonic != ZYDIS_MNEMONIC_UD2 &&
	       in->mnemonic != ZYDIS_MNEMONIC_HLT &&
	       in->mnemonic != ZYDIS_MNEMONIC_INT3 &&
	       in->meta.category != ZYDIS_CATEGORY_CALL &&
	       in->meta.category != ZYDIS_CATEGORY_RET &&
	       in->meta.category != ZYDIS_CATEGORY_UNCOND_BR;
}

static void add_fact_label(struct place *place, uint64_t address)
{
	if (address - place->piece->start >= place->piece->bytes)
		return;
	if (place->label_count < LABELS_MAX)
		place->label[place->label_count++] = address;
	else
		place->fact->what |= FACT_UNDECODED;
}

static void take_instruction(struct place *place, const ZydisDecoder *decoder)
{
	const ZydisDecodedInstruction *in = &place->in;

	if (in->avx.vector_length >= 256 ||
	    in->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		place->fact->what |= FACT_WIDE;
	if (in->mnemonic == ZYDIS_MNEMONIC_TEST &&
	    !memcmp(place->code, "\x84\xc0", 2))
		place->fact->what |= FACT_TESTS_AL;
	if (in->mnemonic == ZYDIS_MNEMONIC_POP &&
	    is_based_on(place, BASE_RSP) && place->row->offset <= 8)
		place->fact->what |= FACT_READS_RETURN;
	if (in->mnemonic == ZYDIS_MNEMONIC_RET && in->raw.imm[0].size)
		place->fact->what |= FACT_READS_RETURN;
	if (switches_stack(place))
		place->fact->what |= FACT_SWITCHES_STACK;
	if (keeps_stack_address(place))
		place->fact->what |= FACT_ADDRESSES_ARGUMENTS;
	if (is_rip_relative(place) && in->mnemonic == ZYDIS_MNEMONIC_LEA) {
		if (code_file_text(place->facts->file, rip_target(place)))
			enter_at(place->facts, rip_target(place), FACT_USED);
		add_fact_label(place, rip_target(place));
		/* Tables may also lie in the segment of the code. */
		if (!add_fact_table(place->facts, rip_target(place)))
			place->fact->what |= FACT_UNDECODED;
	} else if (has_memory_operand(place)) {
		take_memory(place, decoder);
	}
	if (place->facts->file->is_fixed)
		take_fixed_address(place);
	if (place->table_life)
		place->table_life--;
	if (place->sum_life)
		place->sum_life--;
	if (place->label_life)
		place->label_life--;
	if (in->mnemonic == ZYDIS_MNEMONIC_MOV && has_memory_operand(place) &&
	    in->raw.modrm.rm == 4 && in->raw.sib.scale == 3)
		place->label_life = TABLE_LIFE;
	if (place->table_life && in->mnemonic == ZYDIS_MNEMONIC_ADD)
		place->sum_life = TABLE_LIFE;
	if (in->mnemonic == ZYDIS_MNEMONIC_MOVSXD &&
	    has_memory_operand(place) && in->raw.modrm.rm == 4 &&
	    in->raw.sib.scale == 2)
		place->table_life = TABLE_LIFE;
	if (in->meta.category == ZYDIS_CATEGORY_CALL ||
	    in->meta.category == ZYDIS_CATEGORY_COND_BR ||
	    in->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
		take_jump_or_call(place);
}

/* --- pieces --------------------------------------------------------------- */

/* Reads entries of 4 bytes that are relative to @base, mostly the table. The end
 * of a table is not known: it is where an entry leads to no code. Behind it
 * entries of other tables may follow, so a piece that is not @piece, which can
 * only be a part of its function, is not said to be entered within. */
static void read_fact_table(struct code_facts *facts,
			    const struct code_piece *piece, uint64_t table,
			    uint64_t base)
{
	for (uint64_t i = 0;; i++) {
		const struct code_piece *to;
		int32_t distance;
		uint64_t target;

		if (!code_file_copy(facts->file, table + i * sizeof(distance),
				    &distance, sizeof(distance)))
			return;
		target = base + (uint64_t)(int64_t)distance;
		to = code_pieces_at(facts->pieces, target);
		if (!to)
			return;
		if (i == TABLE_ENTRIES_MAX ||
		    facts->entry_count == ENTRIES_MAX) {
			facts->list[piece - facts->pieces->list].what |=
				FACT_UNDECODED;
			return;
		}
		facts->entry_count++;
		if (to == piece)
			enter_at(facts, target, FACT_LOOPS);
		else
			facts->list[to - facts->pieces->list].what |=
				FACT_JUMPED_TO;
	}
}

static void read_piece_facts(struct code_facts *facts, size_t index,
			     const ZydisDecoder *decoder)
{
	const struct code_piece *piece = &facts->pieces->list[index];
	const uint8_t *code =
		code_file_at(facts->file, piece->start, piece->bytes);
	struct place place = { .facts = facts,
			       .piece = piece,
			       .fact = &facts->list[index] };
	size_t row = 0;

	facts->table_count = facts->entry_count = 0;
	read_frame_rows(facts, piece, place.fact);
	for (uint32_t i = 0; code && i < piece->bytes && !facts->err;) {
		place.code = code + i;
		place.at = piece->start + i;
		while (row < facts->row_count &&
		       facts->rows[row].at <= place.at)
			row++;
		place.row = row ? &facts->rows[row - 1] : NULL;
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(
			    decoder, &place.context, place.code,
			    piece->bytes - i, &place.in))) {
			place.fact->what |= FACT_UNDECODED;
			i++;
			continue;
		}
		take_instruction(&place, decoder);
		if (place.in.mnemonic != ZYDIS_MNEMONIC_NOP)
			place.continues = may_continue(&place.in);
		i += place.in.length;
	}
	if (place.continues && !facts->err)
		take_relative_jump(&place, piece->start + piece->bytes);
	for (size_t i = 0; place.has_table_jump && i < facts->table_count;
	     i++) {
		read_fact_table(facts, piece, facts->tables[i],
				facts->tables[i]);
		for (unsigned int j = 0; j < place.label_count; j++)
			read_fact_table(facts, piece, facts->tables[i],
					place.label[j]);
	}
}

bool code_facts_is_stub(const struct code_facts *facts, uint64_t target)
{
	return facts->file->entry_kinds &&
	       code_returns_at_once(facts->file, target);
}

bool code_facts_is_function(const struct code_facts *facts, size_t index)
{
	const struct code_piece *piece = &facts->pieces->list[index];
	const uint32_t what = facts->list[index].what;
	uint64_t slot;

	/* A part of a function may get a value in the flags, which thunks
	 * change. */
	return what & FACT_BEGINS && !(what & FACT_NO_CALLER) &&
	       !piece->is_cold &&
	       (piece->is_entry || what & FACT_USED ||
		!(what & FACT_JUMPED_TO)) &&
	       !code_file_stub(facts->file, piece->start, &slot);
}

bool code_facts_is_nameless(const struct code_facts *facts, size_t index)
{
	const struct code_piece *piece = &facts->pieces->list[index];
	const uint32_t what = facts->list[index].what;
	uint64_t slot;

	return !(piece->start % FUNCTION_ALIGNMENT) && what & FACT_BEGINS &&
	       what & FACT_JUMPED_TO &&
	       !(what & (FACT_NO_CALLER | FACT_USED)) && !piece->is_entry &&
	       !piece->is_cold &&
	       !code_file_stub(facts->file, piece->start, &slot);
}

/* A piece does what the pieces do that it jumps to. */
static bool pass_on(struct code_facts *facts, const struct code_edge *edge)
{
	const struct code_fact *to = &facts->list[edge->to];
	struct code_fact *from = &facts->list[edge->from], before = *from;
	uint32_t mask = FACT_ADDRESSES_ARGUMENTS | FACT_READS_RETURN |
			FACT_TAIL_UNKNOWN | FACT_ALIGNED;

	if (!code_facts_is_function(facts, edge->to))
		mask |= FACT_UNDECODED | FACT_SWITCHES_STACK | FACT_REALIGNS;
	from->what |= to->what & mask;
	from->arguments = MAX(from->arguments, to->arguments);
	return from->what != before.what || from->arguments != before.arguments;
}

/* Returns true if there is more to do. */
static bool pass_all_on(struct code_facts *facts)
{
	bool changed = false;

	for (size_t i = 0; !facts->round && i < facts->pieces->count; i++)
		if (!(facts->list[i].what & FACT_ALIGNS_16) &&
		    facts->list[i].what & (FACT_CALLS | FACT_WIDE))
			facts->list[i].what |= FACT_ALIGNED;
	for (size_t i = 0; i < facts->edge_count; i++)
		changed |= pass_on(facts, &facts->edges[i]);
	if (!changed || ++facts->round < ROUNDS_MAX)
		return changed;
	/* Too long a chain of jumps: nothing is known of any function in it. */
	for (size_t i = 0; i < facts->edge_count; i++)
		facts->list[facts->edges[i].from].what |=
			FACT_ADDRESSES_ARGUMENTS;
	return false;
}

int code_facts_step(struct code_facts *facts, uint64_t bytes)
{
	const size_t count = facts->pieces->count;
	ZydisDecoder decoder;
	uint64_t done = 0;

	if (!facts->list) {
		if (!budget_take(&facts->file->budget,
				 (count + 1) * sizeof(*facts->list)))
			return -ENOMEM;
		facts->list = calloc(count + 1, sizeof(*facts->list));
		if (!facts->list)
			return -ENOMEM;
		for (size_t i = 0; i < count; i++)
			facts->list[i].entered = facts->pieces->list[i].entered;
		enter_by_pointers(facts);
	}
	if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					 ZYDIS_STACK_WIDTH_64)))
		return -ENOMEM;
	for (; facts->next < count && done < bytes && !facts->err;
	     facts->next++) {
		read_piece_facts(facts, facts->next, &decoder);
		done += facts->pieces->list[facts->next].bytes;
	}
	if (facts->err || facts->next < count)
		return facts->err ? facts->err : 1;
	facts->done = !pass_all_on(facts);
	return !facts->done;
}

void code_facts_release(struct code_facts *facts)
{
	free(facts->list);
	free(facts->edges);
	free(facts->rows);
	free(facts->tables);
	*facts = (struct code_facts){ 0 };
}
