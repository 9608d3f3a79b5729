/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_functions - the functions of an ELF file, as elf_read_functions() finds
 * them.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_FUNCTIONS_H
#define PERFREC_COLLECTOR_NAMES_ELF_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

struct elf_function {
	uint64_t start; /* virtual address */
	uint32_t size : 24; /* bytes, at least 1; the size of a longer function
			     * is cut */
	uint32_t rank : 8; /* of several names the lowest rank is best */
	uint32_t name; /* offset in elf_functions.strings */
};

enum elf_rank { /* the bits of elf_function.rank, worst first; elf_read.c says
		 * why */
		ELF_RANK_LABEL = 1 << 7, /* STT_NOTYPE */
		ELF_RANK_NO_SIZE = 1 << 6,
		ELF_RANK_IMPORT = 1 << 5,
		ELF_RANK_LOCAL = 1 << 4,
		ELF_RANK_UNDERSCORE = 1 << 2, /* times 0 to 3 */
		ELF_RANK_WEAK = 1 << 1,
		ELF_RANK_IFUNC = 1 << 0, /* STT_GNU_IFUNC */
		/* An entry of a PLT, which has no symbol: see elf_stubs.h. No
		 * import is local, so the rank is that of stubs alone. */
		ELF_RANK_STUB = ELF_RANK_IMPORT | ELF_RANK_LOCAL,
};

/* The end of the name of an entry of a PLT. */
#define ELF_STUB_MARK "@plt"
/* Separates a name from the file that tells it from another function:
 * elf_twins.h. */
#define ELF_FILE_MARK '\1'

struct elf_functions {
	struct elf_function *list; /* sorted by start, one per address; may be
				    * NULL */
	size_t count;
	char *strings; /* string tables, as they are in the file */
	size_t string_bytes;
	/* The caller frees list and strings. */
};

#endif
