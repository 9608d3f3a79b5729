/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_file - sections are at fixed addresses, without program headers. All
 * thunks share one symbol: a name for each would mean to read all symbol tables
 * while the program waits, and the functions themselves have names.
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
	SECTIONS,
};

static const char g_names[] =
	"\0.text\0.eh_frame\0.symtab\0.strtab\0perfrec_thunk";
/* Where they begin there. */
#define NAME_TEXT 1
#define NAME_FRAMES 7
#define NAME_SYMBOLS 17
#define NAME_NAMES 25
#define NAME_THUNK 33

_Static_assert(sizeof(g_names) == NAME_THUNK + sizeof("perfrec_thunk"),
	       "names");

struct thunk_file {
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTIONS];
	Elf64_Sym symbols[2];
	char names[sizeof(g_names)];
};

_Static_assert(sizeof(struct thunk_file) <= THUNK_FILE_BYTES, "room");

void thunk_file_make(uint8_t out[THUNK_FILE_BYTES], uint32_t i, uint64_t map,
		     uint32_t functions, uint32_t frames)
{
	const uint64_t from =
		thunk_files(functions) + i * (uint64_t)THUNK_FILE_BYTES;
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
			.e_shnum = SECTIONS,
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
	memset(out, 0, THUNK_FILE_BYTES);
	if (map)
		memcpy(out, &file, sizeof(file));
}
