/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize_dwarf - debug information may have gigabytes for a few addresses.
 * So each level is read on first use:
 *
 * 1. Compile units: the ranges in their first entries. .debug_aranges is not
 *    used: clang writes none, and mixed files have it for some units only.
 * 2. Functions: one walk through all entries of a unit.
 * 3. Inlined functions: a walk through the entries of the function.
 *
 * Functions dropped by the linker have address 0 and are skipped.
 *
 * Walks only move forward: in a hostile file a sibling may precede its entry,
 * which ends the walk. The limits of the process bound time and memory.
 */
#include "collector/names/symbolize_dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/names/dwarf_name.h"
#include "collector/names/line_starts.h"
#include "collector/names/symbolize_calls.h"
#include "shared/compiler.h"

#ifndef ELFCOMPRESS_ZSTD /* before glibc 2.37 */
#define ELFCOMPRESS_ZSTD 2
#endif
/* endbr64, and the sled of an entry build. */
#define ENTRY_BYTES_MAX 15u
/* Deeper entries are ignored. */
#define DEPTH_MAX 128

struct span { /* [low, high) */
	uint64_t low, high;
	uint64_t reach; /* greatest high so far */
	Dwarf_Die die; /* or the first entry of the unit */
	size_t unit; /* units: index in dwarf_lines.units */
};

struct spans {
	struct span *list;
	size_t count, room;
};

struct unit {
	bool was_read;
	Dwarf_Die top; /* has the line table */
	Dwarf_Die die; /* the entry in the .dwo file after reading */
	struct spans functions;
	struct dwarf_scopes scopes;
	struct line_starts starts;
};

struct dwarf_lines {
	Elf *elf, *alt_elf;
	Dwarf *dwarf, *alt;
	struct unit *units;
	size_t unit_count, unit_room;
	struct spans ranges;
};

/* --- spans of addresses -------------------------------------------------- */

/* Some ranges are missing if out of memory. */
static void spans_add(struct spans *spans, Dwarf_Die *die, size_t unit)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (!low || low >= high)
			continue;
		if (grow_array(spans->list, spans->room, spans->count + 1))
			return;
		spans->list[spans->count++] = (struct span){
			.low = low, .high = high, .die = *die, .unit = unit
		};
	}
}

static int compare_spans(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	/* smaller ones last, since spans_find() searches backward */
	return (a->high < b->high) - (a->high > b->high);
}

static void spans_sort(struct spans *spans)
{
	uint64_t reach = 0;

	if (spans->count)
		qsort(spans->list, spans->count, sizeof(*spans->list),
		      compare_spans);
	for (size_t i = 0; i < spans->count; i++) {
		reach = MAX(reach, spans->list[i].high);
		spans->list[i].reach = reach;
	}
}

/* The span that starts last wins. Returns NULL if there is none. */
static struct span *spans_find(const struct spans *spans, uint64_t vaddr)
{
	size_t low = search_first(i, spans->count, spans->list[i].low > vaddr);

	while (low-- && spans->list[low].reach > vaddr)
		if (spans->list[low].high > vaddr)
			return &spans->list[low];
	return NULL;
}

/* --- units and their functions ------------------------------------------- */

static void find_units(struct dwarf_lines *lines)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	while (!dwarf_get_units(lines->dwarf, unit, &unit, NULL, NULL, &die,
				NULL))
		if ((dwarf_tag(&die) == DW_TAG_compile_unit ||
		     dwarf_tag(&die) == DW_TAG_skeleton_unit) &&
		    !grow_array(lines->units, lines->unit_room,
				lines->unit_count + 1)) {
			lines->units[lines->unit_count] =
				(struct unit){ .top = die, .die = die };
			spans_add(&lines->ranges, &die, lines->unit_count++);
		}
	spans_sort(&lines->ranges);
}

/* GNU C has nested functions. C++ functions have lambdas and local types with
 * functions. The outer function may be a declaration. */
static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type: /* in Rust */
		return true;
	default:
		return false;
	}
}

/* @scope is the number of @parent. */
static void find_unit_functions(struct unit *unit, Dwarf_Die *parent,
				size_t scope, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			spans_add(&unit->functions, &die, 0);
		if (may_hold_functions(tag))
			find_unit_functions(
				unit, &die,
				dwarf_scopes_add(&unit->scopes, &die, scope),
				depth + 1);
	} while (dwarf_next_sibling(&die));
}

static void read_unit(Elf *elf, struct unit *unit)
{
	Dwarf_Attribute attribute;
	Dwarf_Die split = { 0 };
	Dwarf_Word offset;
	uint8_t type = 0;

	unit->was_read = true;
	/* With -gsplit-dwarf the unit is a skeleton of a .dwo file. */
	if (!dwarf_cu_info(unit->die.cu, NULL, &type, NULL, &split, NULL, NULL,
			   NULL) &&
	    type == DW_UT_skeleton && split.addr)
		unit->die = split;
	find_unit_functions(unit, &unit->die, 0, 0);
	spans_sort(&unit->functions);
	if (dwarf_attr(&unit->top, DW_AT_stmt_list, &attribute) &&
	    !dwarf_formudata(&attribute, &offset))
		line_starts_read(elf, offset, &unit->starts);
}

/* --- lookup --------------------------------------------------------------- */

/* Finds the function inlined at @vaddr directly into @parent. gcc's blocks may
 * overlap, so the search continues after a block without one. */
static bool find_inlined(Dwarf_Die *parent, uint64_t vaddr, int depth,
			 Dwarf_Die *out)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (tag != DW_TAG_inlined_subroutine &&
		    tag != DW_TAG_lexical_block)
			continue;
		if (dwarf_haspc(&die, vaddr) != 1)
			continue;
		if (tag == DW_TAG_inlined_subroutine) {
			*out = die;
			return true;
		}
		if (find_inlined(&die, vaddr, depth + 1, out))
			return true;
	} while (dwarf_next_sibling(&die));
	return false;
}

/* Outermost first. If there are too many, inner ones are lost except the
 * innermost. Returns the count. */
static size_t find_chain(const Dwarf_Die *function, uint64_t vaddr,
			 Dwarf_Die chain[SYMBOLIZE_FRAMES_MAX])
{
	Dwarf_Die at = *function, inlined;
	size_t count = 1;

	chain[0] = at;
	for (int depth = 0; depth < 4 * SYMBOLIZE_FRAMES_MAX; depth++) {
		if (!find_inlined(&at, vaddr, 0, &inlined))
			break;
		at = inlined;
		if (count == SYMBOLIZE_FRAMES_MAX)
			count--;
		chain[count++] = at;
	}
	return count;
}

static uint32_t number_of_attribute(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr_integrate(die, name, &attribute) ||
	    dwarf_formudata(&attribute, &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static const char *text_of_attribute(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

/* Too new for Debian 12. */
#define LANG_CPP_17 0x2a
#define LANG_CPP_20 0x2b

static bool is_cpp(struct unit *unit)
{
	switch (number_of_attribute(&unit->die, DW_AT_language)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case LANG_CPP_17:
	case LANG_CPP_20:
		return true;
	default:
		return false;
	}
}

/* With -flto, an inlined function is in another unit than @unit. NULL: a unit
 * without code. */
static struct unit *unit_of_die(struct dwarf_lines *lines, struct unit *unit,
				const Dwarf_Die *die)
{
	if (unit->die.cu == die->cu)
		return unit;
	for (size_t i = 0; i < lines->unit_count; i++) {
		unit = &lines->units[i];
		if (unit->die.cu != die->cu)
			continue;
		if (!unit->was_read)
			read_unit(lines->elf, unit);
		return unit;
	}
	return NULL;
}

static bool is_external(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	bool is_set = false;

	(void)dwarf_formflag(
		dwarf_attr_integrate(die, DW_AT_external, &attribute), &is_set);
	return is_set;
}

/* In C++, a function without a mangled name belongs to its file, and other
 * scopes may have the same name. An external one is extern "C", without a
 * scope. */
static const char *function_name(struct dwarf_lines *lines, struct unit *unit,
				 Dwarf_Die *die)
{
	const char *name = text_of_attribute(die, DW_AT_linkage_name);
	const char *scoped = NULL;
	Dwarf_Die declaration;

	if (!name)
		name = text_of_attribute(die, DW_AT_MIPS_linkage_name);
	if (name)
		return name;
	name = text_of_attribute(die, DW_AT_name);
	dwarf_declaration(die, &declaration);
	unit = unit_of_die(lines, unit, &declaration);
	if (name && unit && !is_external(die) && is_cpp(unit))
		scoped = dwarf_scoped_name(&unit->scopes, &declaration);
	name = scoped ? scoped : name;
	return name ? name : "";
}

static const char *declaring_file_of(Dwarf_Die *die)
{
	const char *file = is_external(die) ? NULL : dwarf_decl_file(die);

	return file ? file : "";
}

static void set_file(struct dwarf_frame *frame, const char *file,
		     const char *folder)
{
	if (!file)
		return;
	frame->file = file;
	if (file[0] != '/' && folder)
		frame->folder = folder;
}

static void set_numbered_file(struct dwarf_frame *frame, Dwarf_Die *unit,
			      uint32_t index, const char *folder)
{
	Dwarf_Files *files;
	size_t count;

	if (!dwarf_getsrcfiles(unit, &files, &count) && index < count)
		set_file(frame, dwarf_filesrc(files, index, NULL, NULL),
			 folder);
}

/* libdw may find the last row of a sequence that ends at the address.
 * line_starts.h has the right row. */
static void set_own_line(struct dwarf_frame *frame, struct unit *unit,
			 uint64_t vaddr, const char *folder)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, vaddr);
	const struct line_start *start = NULL;
	int number_there = 0;
	Dwarf_Addr address;

	if (!line)
		return;
	if (!dwarf_lineaddr(line, &address))
		start = line_starts_find(&unit->starts, address);
	if (start) {
		set_numbered_file(frame, &unit->top, start->file, folder);
		frame->line = start->line;
		return;
	}
	set_file(frame, dwarf_linesrc(line, NULL, NULL), folder);
	if (!dwarf_lineno(line, &number_there) && number_there > 0)
		frame->line = (uint32_t)number_there;
}

size_t dwarf_lines_find(struct dwarf_lines *lines, uint64_t vaddr,
			struct dwarf_frame out[SYMBOLIZE_FRAMES_MAX])
{
	struct span *span = spans_find(&lines->ranges, vaddr), *function;
	Dwarf_Die chain[SYMBOLIZE_FRAMES_MAX];
	const char *folder;
	struct unit *unit;
	size_t count = 0;

	if (!span)
		return 0;
	unit = &lines->units[span->unit];
	if (!unit->was_read)
		read_unit(lines->elf, unit);
	folder = text_of_attribute(&span->die, DW_AT_comp_dir);
	function = spans_find(&unit->functions, vaddr);
	if (function)
		count = find_chain(&function->die, vaddr, chain);
	/* Assembly code has a line but no function: one frame named "". */
	out[0] = (struct dwarf_frame){ "", "", "", "", 0, 0 };
	for (size_t i = 0; i < count; i++) {
		Dwarf_Die *die = &chain[count - 1 - i];

		out[i] = (struct dwarf_frame){
			.function = function_name(lines, unit, die),
			.home = declaring_file_of(die),
			.folder = "",
			.file = "",
			.start_line = number_of_attribute(die, DW_AT_decl_line),
		};
		if (i) {
			/* The frame calls die + 1, which is inlined there. */
			set_numbered_file(
				&out[i], &unit->die,
				number_of_attribute(die + 1, DW_AT_call_file),
				folder);
			out[i].line =
				number_of_attribute(die + 1, DW_AT_call_line);
		}
	}
	set_own_line(&out[0], unit, vaddr, folder);
	return count ? count : out[0].line > 0;
}

bool dwarf_lines_call(struct dwarf_lines *lines, uint64_t vaddr,
		      struct call_layout *out)
{
	struct span *span = spans_find(&lines->ranges, vaddr), *function;
	struct unit *unit;

	if (!span)
		return false;
	unit = &lines->units[span->unit];
	if (!unit->was_read)
		read_unit(lines->elf, unit);
	function = spans_find(&unit->functions, vaddr);
	if (!function || vaddr - function->low > ENTRY_BYTES_MAX)
		return false;
	/* Equal functions that the linker has merged may have other types. */
	if ((function > unit->functions.list &&
	     function[-1].low == function->low) ||
	    (function + 1 < unit->functions.list + unit->functions.count &&
	     function[1].low == function->low))
		return false;
	dwarf_call_layout(&function->die, vaddr, out);
	return true;
}

/* --- opening ------------------------------------------------------------- */

/* libdw reads zstd from 0.189 on, if built so; others ignore such sections. */
static bool has_zstd(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Chdr how;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) &&
		    header.sh_flags & SHF_COMPRESSED &&
		    gelf_getchdr(section, &how) &&
		    how.ch_type == ELFCOMPRESS_ZSTD)
			return true;
	return false;
}

static Dwarf *open_dwarf(int fd, Elf **elf, const char **why)
{
	Dwarf *dwarf;

	*elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	dwarf = *elf ? dwarf_begin_elf(*elf, DWARF_C_READ, NULL) : NULL;
	if (!dwarf)
		*why = *elf ? dwarf_errmsg(-1) : elf_errmsg(-1);
	return dwarf;
}

int dwarf_lines_new(int fd, int alt_fd, struct dwarf_lines **out,
		    const char **why)
{
	struct dwarf_lines *lines = calloc(1, sizeof(*lines));
	const char *ignored;
	bool is_zstd;

	if (!lines) {
		*why = "not enough memory";
		return -ENOMEM;
	}
	elf_version(EV_CURRENT);
	lines->dwarf = open_dwarf(fd, &lines->elf, why);
	if (lines->dwarf && alt_fd >= 0)
		lines->alt = open_dwarf(alt_fd, &lines->alt_elf, &ignored);
	if (lines->alt)
		dwarf_setalt(lines->dwarf, lines->alt);
	if (lines->dwarf)
		find_units(lines);
	/* libdw may have opened the file for an uncompressed section. */
	is_zstd = !lines->unit_count && has_zstd(lines->elf);
	if (is_zstd)
		*why = "its debug sections are compressed by zstd, which libdw "
		       "of this machine cannot read; link with "
		       "-Wl,--compress-debug-sections=zlib";
	if (is_zstd || !lines->dwarf) {
		dwarf_lines_free(&lines);
		return -EBADMSG;
	}
	*out = lines;
	return 0;
}

void dwarf_lines_free(struct dwarf_lines **lines_ptr)
{
	struct dwarf_lines *lines = *lines_ptr;

	*lines_ptr = NULL;
	if (!lines)
		return;
	for (size_t i = 0; i < lines->unit_count; i++) {
		free(lines->units[i].functions.list);
		free(lines->units[i].starts.list);
		dwarf_scopes_release(&lines->units[i].scopes);
	}
	free(lines->units);
	free(lines->ranges.list);
	dwarf_end(lines->dwarf);
	dwarf_end(lines->alt);
	elf_end(lines->elf);
	elf_end(lines->alt_elf);
	free(lines);
}
