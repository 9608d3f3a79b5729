/* SPDX-License-Identifier: Apache-2.0
 *
 * line_starts - runs the line number programs of DWARF 2 to 5 for address, file
 * and line. Files are numbered; their names precede the program.
 */
#include "collector/names/line_starts.h"

#include <dwarf.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "shared/compiler.h"

/* Limit of line_files_find(). */
#define FILES_BYTES_MAX (64u << 20)

struct bytes {
	const uint8_t *at, *end;
	bool broken; /* reads beyond the end */
};

struct program {
	struct bytes code;
	struct bytes files;
	struct bytes rest; /* after this table */
	unsigned int version;
	size_t offset_bytes;
	uint8_t code_unit, line_range, opcode_base;
	int8_t line_base;
	uint8_t operands[256]; /* of each standard opcode */
};

struct state {
	uint64_t address;
	uint32_t file, line;
	bool has_start;
	struct line_start start;
	struct line_starts *starts; /* NULL: not wanted */
	struct found_files *found; /* the same */
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

/* @size is 8 at most; the machine is little endian. */
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

static uint64_t take_line_leb(struct bytes *bytes, bool is_signed)
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

/* Unpacks the section. Returns NULL if it is empty or too large. */
static Elf_Data *unpacked_data(Elf_Scn *section)
{
	GElf_Shdr header;
	GElf_Chdr packed;

	if (gelf_getshdr(section, &header) &&
	    header.sh_flags & SHF_COMPRESSED &&
	    (!gelf_getchdr(section, &packed) ||
	     packed.ch_size > FILES_BYTES_MAX ||
	     elf_compress(section, 0, 0) < 0))
		return NULL;
	return elf_getdata(section, NULL);
}

/* @old_name is the name with GNU's old compression. */
static bool find_line_section(Elf *elf, const char *name, const char *old_name,
			      struct bytes *out)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *found =
			gelf_getshdr(section, &header)
				? elf_strptr(elf, names, header.sh_name)
				: NULL;
		Elf_Data *data;

		if (!found ||
		    (strcmp(found, name) != 0 && strcmp(found, old_name) != 0))
			continue;
		data = unpacked_data(section);
		if (!data || !data->d_buf)
			continue;
		*out = (struct bytes){ .at = data->d_buf,
				       .end = (uint8_t *)data->d_buf +
					      data->d_size };
		return true;
	}
	return false;
}

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
	out->rest = table;
	skip_bytes(&out->rest, length);
	table.end = table.at + length;
	version = (unsigned int)take_fixed(&table, 2);
	out->version = version;
	out->offset_bytes = size;
	if (version < 2 || version > 5)
		return false;
	if (version == 5)
		skip_bytes(&table, 2); /* sizes of address and segment */
	header_length = take_fixed(&table, size);
	rest = out->code = table;
	skip_bytes(&out->code, header_length);
	out->code_unit = take_byte(&rest);
	if (version >= 4)
		skip_bytes(&rest, 1); /* for VLIW machines */
	skip_bytes(&rest, 1); /* default of is_stmt */
	out->line_base = (int8_t)take_byte(&rest);
	out->line_range = take_byte(&rest);
	out->opcode_base = take_byte(&rest);
	for (unsigned int i = 1; i < out->opcode_base; i++)
		out->operands[i] = take_byte(&rest);
	rest.end = out->code.at;
	out->files = rest;
	return !rest.broken && !out->code.broken && out->line_range &&
	       out->opcode_base;
}

/* --- files ---------------------------------------------------------------- */

struct path {
	const char *text;
	uint64_t folder;
};

struct paths {
	struct path *list;
	size_t count, room;
};

struct found_files {
	struct line_file *list;
	size_t count;
	struct paths folders, files; /* of the current table */
	struct bytes strings, line_strings; /* .debug_str, .debug_line_str */
};

static const char *folder_at(const struct found_files *found, uint64_t number)
{
	return number < found->folders.count ? found->folders.list[number].text
					     : "";
}

static void find_line_row(struct found_files *found, uint64_t address,
			  uint32_t file)
{
	size_t low = search_first(i, found->count,
				  found->list[i].address >= address);
	const struct path *path;

	if (low == found->count || found->list[low].address != address ||
	    found->list[low].path || file >= found->files.count)
		return;
	path = &found->files.list[file];
	found->list[low].path = path->text;
	found->list[low].root = folder_at(found, 0);
	found->list[low].folder = folder_at(found, path->folder);
}

static const char *take_string(struct bytes *bytes)
{
	const char *text = (const char *)bytes->at;
	size_t length = strnlen(text, MIN(bytes_left(bytes), PATH_MAX));

	bytes->broken |= length == PATH_MAX;
	skip_bytes(bytes, length + 1);
	return bytes->broken ? "" : text;
}

static const char *string_at(struct bytes section, uint64_t offset)
{
	skip_bytes(&section, offset);
	return take_string(&section);
}

static bool add_path(struct paths *paths, const char *text, uint64_t folder)
{
	if (grow_array(paths->list, paths->room, paths->count + 1))
		return false;
	paths->list[paths->count++] = (struct path){ text, folder };
	return true;
}

/* DWARF 2 to 4: lists end with an empty string and count from 1. */
static void read_old_paths(struct bytes *bytes, struct found_files *found)
{
	const char *text;

	if (!add_path(&found->folders, "", 0) ||
	    !add_path(&found->files, "", 0))
		return;
	while (*(text = take_string(bytes)))
		if (!add_path(&found->folders, text, 0))
			return;
	while (*(text = take_string(bytes))) {
		uint64_t folder = take_line_leb(bytes, false);

		take_line_leb(bytes, false);
		take_line_leb(bytes, false); /* time and size */
		if (!add_path(&found->files, text, folder))
			return;
	}
}

static bool take_form(struct bytes *bytes, uint64_t form, size_t offset_bytes,
		      const struct found_files *found, const char **text,
		      uint64_t *number)
{
	switch (form) {
	case DW_FORM_string:
		*text = take_string(bytes);
		return true;
	case DW_FORM_line_strp:
		*text = string_at(found->line_strings,
				  take_fixed(bytes, offset_bytes));
		return true;
	case DW_FORM_strp:
		*text = string_at(found->strings,
				  take_fixed(bytes, offset_bytes));
		return true;
	case DW_FORM_udata:
		*number = take_line_leb(bytes, false);
		return true;
	case DW_FORM_data1:
		*number = take_fixed(bytes, 1);
		return true;
	case DW_FORM_data2:
		*number = take_fixed(bytes, 2);
		return true;
	case DW_FORM_data16: /* checksum */
		skip_bytes(bytes, 16);
		return true;
	default:
		return false;
	}
}

/* DWARF 5: a list starts with the format of its entries. */
static void read_new_paths(struct bytes *bytes, size_t offset_bytes,
			   const struct found_files *found, struct paths *out)
{
	uint64_t format[255][2], count;
	uint8_t parts = take_byte(bytes);

	for (unsigned int i = 0; i < parts; i++) {
		format[i][0] = take_line_leb(bytes, false);
		format[i][1] = take_line_leb(bytes, false);
	}
	count = take_line_leb(bytes, false);
	while (parts && count-- && !bytes->broken) {
		struct path path = { "", 0 };

		for (unsigned int i = 0; i < parts; i++) {
			const char *text = "";
			uint64_t number = 0;

			if (!take_form(bytes, format[i][1], offset_bytes, found,
				       &text, &number)) {
				bytes->broken = true;
				return;
			}
			if (format[i][0] == DW_LNCT_path)
				path.text = text;
			else if (format[i][0] == DW_LNCT_directory_index)
				path.folder = number;
		}
		if (!add_path(out, path.text, path.folder))
			return;
	}
}

/* --- the program ---------------------------------------------------------- */

static void state_reset(struct state *state)
{
	*state = (struct state){ .file = 1,
				 .line = 1,
				 .starts = state->starts,
				 .found = state->found };
}

static void add_line_row(struct state *state)
{
	if (state->found)
		find_line_row(state->found, state->address, state->file);
	if (state->has_start && state->start.address != state->address)
		return;
	state->has_start = true;
	state->start =
		(struct line_start){ state->address, state->file, state->line };
}

static void run_extended_opcode(struct program *program, struct state *state)
{
	uint64_t length = take_line_leb(&program->code, false);
	struct bytes operands = program->code;
	struct line_starts *out = state->starts;
	uint8_t opcode;

	skip_bytes(&program->code, length);
	if (program->code.broken || !length)
		return;
	operands.end = program->code.at;
	opcode = take_byte(&operands);
	if (opcode == DW_LNE_set_address && length - 1 <= 8) {
		state->address = take_fixed(&operands, length - 1);
	} else if (opcode == DW_LNE_end_sequence) {
		/* Skips empty sequences, and those at 0, which the linker
		 * dropped. */
		if (out && state->has_start && state->start.address &&
		    state->start.address < state->address &&
		    !grow_array(out->list, out->room, out->count + 1))
			out->list[out->count++] = state->start;
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
		state->address +=
			take_line_leb(code, false) * program->code_unit;
		break;
	case DW_LNS_advance_line:
		state->line += (uint32_t)take_line_leb(code, true);
		break;
	case DW_LNS_set_file:
		state->file = (uint32_t)take_line_leb(code, false);
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
			take_line_leb(code, false);
	}
}

static int compare_line_starts(const void *left, const void *right)
{
	const struct line_start *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static void run_program(struct program *program, struct state *state)
{
	struct bytes *code = &program->code;

	state_reset(state);
	while (!code->broken && bytes_left(code)) {
		uint8_t opcode = take_byte(code);

		if (opcode >= program->opcode_base) {
			unsigned int step = opcode - program->opcode_base;

			state->address +=
				(uint64_t)(step / program->line_range) *
				program->code_unit;
			state->line +=
				(uint32_t)(program->line_base +
					   (int)(step % program->line_range));
			add_line_row(state);
		} else if (opcode) {
			run_standard_opcode(program, state, opcode);
		} else {
			run_extended_opcode(program, state);
		}
	}
}

void line_starts_read(Elf *elf, uint64_t offset, struct line_starts *out)
{
	struct state state = { .starts = out };
	struct program program = { 0 };
	struct bytes table;

	if (!find_line_section(elf, ".debug_line", ".zdebug_line", &table) ||
	    offset > bytes_left(&table))
		return;
	table.at += offset;
	if (!read_program_header(table, &program))
		return;
	run_program(&program, &state);
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

void line_files_find(Elf *elf, struct line_file *files, size_t count)
{
	struct found_files found = { .list = files, .count = count };
	struct state state = { .found = &found };
	struct program program = { 0 };
	struct bytes table;

	if (!find_line_section(elf, ".debug_line", "", &table) ||
	    bytes_left(&table) > FILES_BYTES_MAX)
		return;
	find_line_section(elf, ".debug_str", "", &found.strings);
	find_line_section(elf, ".debug_line_str", "", &found.line_strings);
	while (bytes_left(&table) && read_program_header(table, &program)) {
		found.folders.count = found.files.count = 0;
		if (program.version < 5) {
			read_old_paths(&program.files, &found);
		} else {
			read_new_paths(&program.files, program.offset_bytes,
				       &found, &found.folders);
			read_new_paths(&program.files, program.offset_bytes,
				       &found, &found.files);
		}
		run_program(&program, &state);
		table = program.rest;
	}
	free(found.folders.list);
	free(found.files.list);
}
