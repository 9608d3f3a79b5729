/* SPDX-License-Identifier: Apache-2.0
 *
 * line_starts - see the header. This runs the line number programs of DWARF 2
 * to 5 for the registers that are needed: address, file and line.
 */
#include "collector/names/line_starts.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

struct bytes {
	const uint8_t *at, *end;
	bool broken; /* more was wanted than there is */
};

struct program {
	struct bytes code;
	uint8_t code_unit, line_range, opcode_base;
	int8_t line_base;
	uint8_t operands[256]; /* of each standard opcode */
};

struct state {
	uint64_t address;
	uint32_t file, line;
	bool has_start;
	struct line_start start; /* of the sequence that is being read */
};

/* --- bytes ---------------------------------------------------------------- */

static size_t bytes_left(const struct bytes *bytes)
{
	return (size_t)(bytes->end - bytes->at);
}

static void skip_bytes(struct bytes *bytes, uint64_t count)
{
	if (count > bytes_left(bytes)) {
		bytes->broken = true;
		count = bytes_left(bytes);
	}
	bytes->at += count;
}

/* A number of @size bytes, at most 8; the machine is a little-endian one. */
static uint64_t take_fixed(struct bytes *bytes, size_t size)
{
	const uint8_t *from = bytes->at;
	uint64_t value = 0;

	skip_bytes(bytes, size);
	if (!bytes->broken)
		memcpy(&value, from, size);
	return value;
}

static uint8_t take_byte(struct bytes *bytes)
{
	return (uint8_t)take_fixed(bytes, 1);
}

static uint64_t take_leb(struct bytes *bytes, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t next;

	do {
		next = take_byte(bytes);
		if (shift < 64)
			value |= (uint64_t)(next & 0x7f) << shift;
		shift += 7;
	} while (next & 0x80);
	if (is_signed && shift < 64 && next & 0x40)
		value |= -1ull << shift;
	return value;
}

/* --- the header ----------------------------------------------------------- */

/* Finds the section's bytes. Its name is another where GNU's old way of
 * compression was used. */
static bool find_line_section(Elf *elf, struct bytes *out)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name =
			gelf_getshdr(section, &header)
				? elf_strptr(elf, names, header.sh_name)
				: NULL;
		Elf_Data *data;

		if (!name || (strcmp(name, ".debug_line") != 0 &&
			      strcmp(name, ".zdebug_line") != 0))
			continue;
		data = header.sh_flags & SHF_COMPRESSED
			       ? NULL
			       : elf_getdata(section, NULL);
		if (!data || !data->d_buf)
			continue;
		*out = (struct bytes){ .at = data->d_buf,
				       .end = (uint8_t *)data->d_buf +
					      data->d_size };
		return true;
	}
	return false;
}

/* Reads the header at the start of @table, up to its lists of files. */
static bool read_program_header(struct bytes table, struct program *out)
{
	uint64_t length = take_fixed(&table, 4), header_length;
	size_t size = length == UINT32_MAX ? 8 : 4;
	unsigned int version;
	struct bytes rest;

	if (size == 8)
		length = take_fixed(&table, 8);
	if (table.broken || length > bytes_left(&table))
		return false;
	table.end = table.at + length;
	version = (unsigned int)take_fixed(&table, 2);
	if (version < 2 || version > 5)
		return false;
	if (version == 5)
		skip_bytes(&table,
			   2); /* sizes of an address and of a segment */
	header_length = take_fixed(&table, size);
	rest = out->code = table;
	skip_bytes(&out->code, header_length);
	out->code_unit = take_byte(&rest);
	if (version >= 4)
		skip_bytes(&rest, 1); /* of VLIW machines */
	skip_bytes(&rest, 1); /* whether a row is a statement at first */
	out->line_base = (int8_t)take_byte(&rest);
	out->line_range = take_byte(&rest);
	out->opcode_base = take_byte(&rest);
	for (unsigned int i = 1; i < out->opcode_base; i++)
		out->operands[i] = take_byte(&rest);
	return !rest.broken && !out->code.broken && out->line_range &&
	       out->opcode_base;
}

/* --- the program ---------------------------------------------------------- */

static void state_reset(struct state *state)
{
	*state = (struct state){ .file = 1, .line = 1 };
}

static void add_line_row(struct state *state)
{
	if (state->has_start && state->start.address != state->address)
		return;
	state->has_start = true;
	state->start =
		(struct line_start){ state->address, state->file, state->line };
}

static void end_sequence(struct state *state, struct line_starts *out)
{
	/* one of no bytes, or one that the linker threw away, at 0 */
	if (!state->has_start || !state->start.address ||
	    state->start.address >= state->address)
		return;
	if (grow_array(out->list, out->room, out->count + 1))
		return;
	out->list[out->count++] = state->start;
}

static void run_extended_opcode(struct program *program, struct state *state,
				struct line_starts *out)
{
	uint64_t length = take_leb(&program->code, false);
	struct bytes operands = program->code;
	uint8_t opcode;

	skip_bytes(&program->code, length);
	if (program->code.broken || !length)
		return;
	operands.end = program->code.at;
	opcode = take_byte(&operands);
	if (opcode == DW_LNE_set_address && length - 1 <= 8) {
		state->address = take_fixed(&operands, length - 1);
	} else if (opcode == DW_LNE_end_sequence) {
		end_sequence(state, out);
		state_reset(state);
	}
}

static void run_standard_opcode(struct program *program, struct state *state,
				uint8_t opcode)
{
	struct bytes *code = &program->code;

	switch (opcode) {
	case DW_LNS_copy:
		add_line_row(state);
		break;
	case DW_LNS_advance_pc:
		state->address += take_leb(code, false) * program->code_unit;
		break;
	case DW_LNS_advance_line:
		state->line += (uint32_t)take_leb(code, true);
		break;
	case DW_LNS_set_file:
		state->file = (uint32_t)take_leb(code, false);
		break;
	case DW_LNS_const_add_pc:
		state->address += (255u - program->opcode_base) /
				  program->line_range * program->code_unit;
		break;
	case DW_LNS_fixed_advance_pc:
		state->address += take_fixed(code, 2);
		break;
	default:
		for (unsigned int i = 0; i < program->operands[opcode]; i++)
			take_leb(code, false);
	}
}

static void run_special_opcode(const struct program *program,
			       struct state *state, uint8_t opcode)
{
	unsigned int step = opcode - program->opcode_base;

	state->address +=
		(uint64_t)(step / program->line_range) * program->code_unit;
	state->line += (uint32_t)(program->line_base +
				  (int)(step % program->line_range));
	add_line_row(state);
}

static int compare_line_starts(const void *left, const void *right)
{
	const struct line_start *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

void line_starts_read(Elf *elf, uint64_t offset, struct line_starts *out)
{
	struct program program = { 0 };
	struct bytes *code = &program.code;
	struct state state;
	struct bytes table;

	if (!find_line_section(elf, &table) || offset > bytes_left(&table))
		return;
	table.at += offset;
	if (!read_program_header(table, &program))
		return;
	state_reset(&state);
	while (!code->broken && bytes_left(code)) {
		uint8_t opcode = take_byte(code);

		if (opcode >= program.opcode_base)
			run_special_opcode(&program, &state, opcode);
		else if (opcode)
			run_standard_opcode(&program, &state, opcode);
		else
			run_extended_opcode(&program, &state, out);
	}
	if (out->count)
		qsort(out->list, out->count, sizeof(*out->list),
		      compare_line_starts);
}

const struct line_start *line_starts_find(const struct line_starts *starts,
					  uint64_t address)
{
	struct line_start key = { .address = address };

	return starts->count ? bsearch(&key, starts->list, starts->count,
				       sizeof(key), compare_line_starts)
			     : NULL;
}
