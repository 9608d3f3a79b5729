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

bool elf_segments_section(elf_read_fn read, void *context,
			  const Elf64_Ehdr *elf, const char *name,
			  Elf64_Shdr *out)
{
	size_t bytes = strlen(name) + 1;
	char found[32];
	Elf64_Shdr names;

	if (elf->e_shentsize != sizeof(*out) || bytes > sizeof(found) ||
	    !read(context, elf->e_shoff + elf->e_shstrndx * sizeof(names),
		  &names, sizeof(names)))
		return false;
	for (size_t i = 0; i < elf->e_shnum; i++)
		if (read(context, elf->e_shoff + i * sizeof(*out), out,
			 sizeof(*out)) &&
		    read(context, names.sh_offset + out->sh_name, found,
			 bytes) &&
		    !memcmp(found, name, bytes))
			return true;
	return false;
}
