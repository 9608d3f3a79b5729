/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_segments - maps virtual addresses to file offsets. The file is hostile,
 * as in elf_read.h. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_SEGMENTS_H
#define PERFREC_COLLECTOR_NAMES_ELF_SEGMENTS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_SEGMENTS_MAX 64

/* Initialize to zero. */
struct elf_segments {
	struct elf_segment {
		uint64_t vaddr, offset, bytes;
	} list[ELF_SEGMENTS_MAX];
	size_t count;
};

bool elf_segments_header_is_good(const Elf64_Ehdr *header);
/* Returns false if there are too many. */
bool elf_segments_add(struct elf_segments *segments, const Elf64_Phdr *header);
/* All @bytes must be in one segment. *@offset is in the file. */
bool elf_segments_find(const struct elf_segments *segments, uint64_t vaddr,
		       size_t bytes, uint64_t *offset);

/* Returns false if the file is shorter. */
typedef bool (*elf_read_fn)(void *context, uint64_t offset, void *out,
			    size_t bytes);
bool elf_segments_section(elf_read_fn read, void *context,
			  const Elf64_Ehdr *elf, const char *name,
			  Elf64_Shdr *out);

#endif
