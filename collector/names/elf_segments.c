/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/elf_segments.h"

#include <string.h>

bool elf_segments_header_is_good(const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_phentsize == sizeof(Elf64_Phdr);
}

bool elf_segments_add(struct elf_segments *segments, const Elf64_Phdr *header)
{
	if (segments->count == ELF_SEGMENTS_MAX)
		return false;
	segments->list[segments->count++] =
		(struct elf_segment){ header->p_vaddr, header->p_offset,
				      header->p_filesz };
	return true;
}

bool elf_segments_find(const struct elf_segments *segments, uint64_t vaddr,
		       size_t bytes, uint64_t *offset)
{
	for (size_t i = 0; i < segments->count; i++) {
		const struct elf_segment *segment = &segments->list[i];
		uint64_t into = vaddr - segment->vaddr;

		if (vaddr < segment->vaddr || into >= segment->bytes ||
		    segment->bytes - into < bytes)
			continue;
		*offset = segment->offset + into;
		return true;
	}
	return false;
}
