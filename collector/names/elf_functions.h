/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_functions - the functions of an ELF file, from elf_read_functions().
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_FUNCTIONS_H
#define PERFREC_COLLECTOR_NAMES_ELF_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

struct elf_function {
	uint64_t start;
	uint32_t size : 24; /* at least 1; longer functions are cut */
	uint32_t rank : 8; /* at equal addresses the lowest wins */
	uint32_t name;
};

enum elf_rank { /* bits of elf_function.rank, worst first; see elf_read.c */
		ELF_RANK_LABEL = 1 << 7, /* STT_NOTYPE */
		ELF_RANK_NO_SIZE = 1 << 6,
		ELF_RANK_IMPORT = 1 << 5,
		ELF_RANK_LOCAL = 1 << 4,
		ELF_RANK_UNDERSCORE = 1 << 2, /* times 0 to 3 */
		ELF_RANK_WEAK = 1 << 1,
		ELF_RANK_IFUNC = 1 << 0, /* STT_GNU_IFUNC */
		/* Imports are never local, so only PLT entries have this
		 * rank. */
		ELF_RANK_STUB = ELF_RANK_IMPORT | ELF_RANK_LOCAL,
};

/* Suffix of the names of PLT entries. */
#define ELF_STUB_MARK "@plt"
/* Separates a name from its file: elf_twins.h. */
#define ELF_FILE_MARK '\1'

struct elf_functions {
	struct elf_function *list; /* sorted, one per address */
	size_t count;
	char *strings;
	size_t string_bytes;
	/* The caller frees list and strings. */
};

#endif
