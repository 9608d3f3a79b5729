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
	uint32_t size : 26; /* bytes, at least 1; the size of a longer function
			     * is cut */
	uint32_t rank : 6; /* of several names the lowest rank is best;
			    * elf_read.c */
	uint32_t name; /* offset in elf_functions.strings */
};

/* The rank of an entry of a PLT, which has no symbol: see elf_stubs.h. Its name
 * ends in ELF_STUB_MARK. */
#define ELF_RANK_STUB 24
#define ELF_STUB_MARK "@plt"

struct elf_functions {
	struct elf_function *list; /* sorted by start, one per address; may be
				    * NULL */
	size_t count;
	char *strings; /* string tables, as they are in the file */
	size_t string_bytes;
	/* The caller frees list and strings. */
};

#endif
