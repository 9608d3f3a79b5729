/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_segments - where in an ELF file its virtual addresses lie. The file is
 * hostile, as in elf_read.h. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_SEGMENTS_H
#define PERFREC_COLLECTOR_NAMES_ELF_SEGMENTS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_SEGMENTS_MAX 64

/* All zero at first. */
struct elf_segments {
	struct elf_segment {
		uint64_t vaddr, offset, bytes;
	} list[ELF_SEGMENTS_MAX];
	size_t count;
};

/* Whether @header is that of a 64-bit, little-endian file whose program headers
 * have the usual size. */
bool elf_segments_header_is_good(const Elf64_Ehdr *header);
/* Adds the segment that @header loads from the file. False: there are too many,
 * and it was not added. */
bool elf_segments_add(struct elf_segments *segments, const Elf64_Phdr *header);
/* Whether the @bytes at @vaddr lie in one segment. *@offset is then where they
 * are in the file. */
bool elf_segments_find(const struct elf_segments *segments, uint64_t vaddr,
		       size_t bytes, uint64_t *offset);

/* Copies @bytes at @offset of the file; false: it does not have all of them. */
typedef bool (*elf_read_fn)(void *context, uint64_t offset, void *out,
			    size_t bytes);
/* Finds the section @name in the file with the header @elf. False: there is
 * none. */
bool elf_segments_section(elf_read_fn read, void *context,
			  const Elf64_Ehdr *elf, const char *name,
			  Elf64_Shdr *out);

#endif
