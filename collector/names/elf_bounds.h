/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_bounds - where the functions of an ELF file begin and end, as its unwind
 * tables say (.eh_frame): what is left of them in a stripped file. The file is
 * hostile, as in elf_read.h. Pure apart from reading; any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_BOUNDS_H
#define PERFREC_COLLECTOR_NAMES_ELF_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_bound {
	uint64_t start; /* virtual address */
	uint32_t bytes; /* at least 1 */
};

struct elf_bounds {
	struct elf_bound *list; /* by start; the caller frees it; may be NULL */
	size_t count;
};

/* Reads the bounds of the functions in the ELF file behind @fd, a regular file,
 * which stays the caller's. 0; -ENODATA: the file has no table that makes
 * sense; -ENOMEM. After an error *@out is empty. */
int elf_bounds_read(int fd, struct elf_bounds *out);
/* The last function that begins at or before @vaddr; NULL: none does. */
const struct elf_bound *elf_bounds_last(const struct elf_bounds *bounds,
					uint64_t vaddr);
/* Whether @vaddr lies in a function. *@start is then its first address. */
bool elf_bounds_find(const struct elf_bounds *bounds, uint64_t vaddr,
		     uint64_t *start);

#endif
