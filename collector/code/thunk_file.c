/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_file - gdb takes sections at fixed addresses, without program headers.
 * Other unwinders read the file of a mapping, or its memory if nothing can open
 * the file, and need program headers and a table (.eh_frame_hdr). These cover only
 * the used parts, because a reader of memory copies them.
 *
 * All thunks share one symbol: a name for each would mean to read all symbol
 * tables while the program waits, and the functions themselves have names.
 */
#include "collector/code/thunk_file.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

enum section {
	SECTION_NONE,
	SECTION_TEXT,
	SECTION_FRAMES,
	SECTION_SYMBOLS,
	SECTION_NAMES,
	SECTION_TABLE, /* only of the area */
	SECTIONS,
};

enum segment {
	SEGMENT_HEAD,
	SEGMENT_TABLE,
	SEGMENT_TEXT,
	SEGMENT_FRAMES,
	SEGMENT_TO_TABLE, /* PT_GNU_EH_FRAME */
	SEGMENTS,
};

static const char g_names[] = "\0.text\0.eh_frame\0.symtab\0.strtab\0"
			      "perfrec_thunk\0.eh_frame_hdr";
/* Where they begin there. */
#define NAME_TEXT 1
#define NAME_FRAMES 7
#define NAME_SYMBOLS 17
#define NAME_NAMES 25
#define NAME_THUNK 33
#define NAME_TABLE 47

_Static_assert(sizeof(g_names) == NAME_TABLE + sizeof(".eh_frame_hdr"),
	       "names");

struct thunk_file {
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTIONS];
	Elf64_Sym symbols[2];
	char names[sizeof(g_names)];
	Elf64_Phdr segments[SEGMENTS]; /* only of the area */
};

_Static_assert(sizeof(struct thunk_file) <= THUNK_FILE_BYTES, "room");
_Static_assert(THUNK_FILE_BYTES <= THUNK_PAGE, "the page of the area");

/* Makes the file at @from of the area, for the mapping at @map. */
static struct thunk_file make_thunk_file(uint64_t map, uint64_t from,
					 uint32_t functions, uint32_t frames)
{
	const uint64_t text_bytes = functions * (uint64_t)THUNK_BYTES;
	struct thunk_file file = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				     ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_EXEC,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_entry = map,
			.e_shoff = offsetof(struct thunk_file, sections),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = SECTION_TABLE,
			.e_shstrndx = SECTION_NAMES,
		},
		.sections = {
			[SECTION_TEXT] = {
				.sh_name = NAME_TEXT,
				.sh_type = SHT_NOBITS,
				.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				.sh_addr = map + THUNK_CODE,
				.sh_size = text_bytes,
				.sh_addralign = 16,
			},
			[SECTION_FRAMES] = {
				.sh_name = NAME_FRAMES,
				.sh_type = SHT_PROGBITS,
				.sh_flags = SHF_ALLOC,
				.sh_addr = map + thunk_frame(functions, 0),
				.sh_offset = thunk_frame(functions, 0) - from,
				.sh_size = frames * (uint64_t)THUNK_FRAME_BYTES,
				.sh_addralign = 4,
			},
			[SECTION_SYMBOLS] = {
				.sh_name = NAME_SYMBOLS,
				.sh_type = SHT_SYMTAB,
				.sh_offset = offsetof(struct thunk_file,
						      symbols),
				.sh_size = sizeof(file.symbols),
				.sh_link = SECTION_NAMES,
				.sh_info = 1, /* the first global one */
				.sh_addralign = 8,
				.sh_entsize = sizeof(Elf64_Sym),
			},
			[SECTION_NAMES] = {
				.sh_name = NAME_NAMES,
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct thunk_file, names),
				.sh_size = sizeof(g_names),
				.sh_addralign = 1,
			},
		},
		.symbols[1] = {
			.st_name = NAME_THUNK,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = SECTION_TEXT,
			.st_value = map + THUNK_CODE,
			.st_size = text_bytes,
		},
	};

	memcpy(file.names, g_names, sizeof(g_names));
	return file;
}

static void put_thunk_file(uint8_t out[THUNK_FILE_BYTES],
			   const struct thunk_file *file)
{
	memset(out, 0, THUNK_FILE_BYTES);
	if (file)
		memcpy(out, file, sizeof(*file));
}

void thunk_file_make(uint8_t out[THUNK_FILE_BYTES], uint32_t i, uint64_t map,
		     uint32_t functions, uint32_t frames)
{
	const struct thunk_file file = make_thunk_file(
		map, thunk_files(functions) + i * (uint64_t)THUNK_FILE_BYTES,
		functions, frames);

	put_thunk_file(out, map ? &file : NULL);
}

/* All addresses are offsets in the area. */
static Elf64_Phdr area_segment(uint32_t type, uint64_t at, uint64_t bytes,
			       uint64_t file_bytes)
{
	return (Elf64_Phdr){
		.p_type = type,
		.p_flags = PF_R | PF_X,
		.p_offset = at,
		.p_vaddr = at,
		.p_paddr = at,
		.p_filesz = file_bytes,
		.p_memsz = bytes,
		.p_align = type == PT_LOAD ? THUNK_PAGE : 4,
	};
}

void thunk_file_make_area(uint8_t out[THUNK_FILE_BYTES], uint32_t functions,
			  uint32_t frames)
{
	const uint64_t table_bytes =
		THUNK_FRAMES_HEAD + frames * (uint64_t)THUNK_FRAMES_OF * 8;
	struct thunk_file file = make_thunk_file(0, 0, functions, frames);
	const uint64_t text_bytes = file.sections[SECTION_TEXT].sh_size;
	const uint64_t frame_bytes = file.sections[SECTION_FRAMES].sh_size;

	file.header.e_type = ET_DYN;
	file.header.e_phoff = offsetof(struct thunk_file, segments);
	file.header.e_phentsize = sizeof(Elf64_Phdr);
	file.header.e_phnum = SEGMENTS;
	file.header.e_shnum = SECTIONS;
	file.sections[SECTION_TEXT].sh_offset = THUNK_CODE;
	file.sections[SECTION_TABLE] = (Elf64_Shdr){
		.sh_name = NAME_TABLE,
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC,
		.sh_addr = THUNK_FRAMES,
		.sh_offset = THUNK_FRAMES,
		.sh_size = table_bytes,
		.sh_addralign = 4,
	};
	file.segments[SEGMENT_HEAD] =
		area_segment(PT_LOAD, 0, THUNK_FILE_BYTES, THUNK_FILE_BYTES);
	file.segments[SEGMENT_TABLE] =
		area_segment(PT_LOAD, THUNK_FRAMES, table_bytes, table_bytes);
	file.segments[SEGMENT_TEXT] =
		area_segment(PT_LOAD, THUNK_CODE, text_bytes, THUNK_BYTES);
	file.segments[SEGMENT_FRAMES] = area_segment(
		PT_LOAD, thunk_frame(functions, 0), frame_bytes, frame_bytes);
	file.segments[SEGMENT_TO_TABLE] = area_segment(
		PT_GNU_EH_FRAME, THUNK_FRAMES, table_bytes, table_bytes);
	put_thunk_file(out, &file);
}
