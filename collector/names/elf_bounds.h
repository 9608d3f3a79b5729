/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_bounds - the bounds of functions from the unwind tables of an ELF file
 * (.eh_frame), which stripped files still have. The file is hostile, as in
 * elf_read.h. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_BOUNDS_H
#define PERFREC_COLLECTOR_NAMES_ELF_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_bound {
	uint64_t start;
	uint32_t bytes;
};

struct elf_bounds {
	struct elf_bound *list; /* sorted; the caller's; may be NULL */
	size_t count;
};

/* Reads the regular file @fd, which stays the caller's. Returns 0; -ENODATA: no
 * usable table; -ENOMEM. After an error *@out is empty. */
int elf_bounds_read(int fd, struct elf_bounds *out);
const struct elf_bound *elf_bounds_last(const struct elf_bounds *bounds,
					uint64_t vaddr);
/* *@start is the first address of the function that covers @vaddr. */
bool elf_bounds_find(const struct elf_bounds *bounds, uint64_t vaddr,
		     uint64_t *start);

#endif
