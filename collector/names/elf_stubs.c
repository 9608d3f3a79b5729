/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_stubs - a PLT entry jumps through a slot of the global offset table ("jmp
 * *offset(%rip)"). A relocation names the function of the slot: System V ABI,
 * AMD64 supplement 1.0, 5.2 and table 4.9. Other instructions depend on the
 * linker (endbr64, bnd, an index in r11), so only the jump is matched.
 *
 * The slot of an STT_GNU_IFUNC function (target_clones) has the address of the
 * resolver instead of a symbol: R_X86_64_IRELATIVE. The program uses such an
 * entry as the function's address, and passes it to hooks.
 */
#include "collector/names/elf_stubs.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/names/elf_functions.h"

/* Limits for hostile files. */
#define SLOTS_MAX (1u << 20)
#define RELOCATION_BYTES_MAX (256u << 20)
#define CODE_BYTES_MAX (16u << 20)
#define NAME_BYTES_MAX (16u << 20)

#define JUMP_BYTES 6
#define STUB_BYTES 16 /* by default */
#define STUB_BYTES_MAX 64

struct slot {
	uint64_t vaddr; /* must be first: compare_slots() */
	Elf_Scn *symbols;
	size_t symbol;
	uint64_t resolver;
};

struct resolved {
	uint64_t vaddr; /* of its resolver; must be first: compare_slots() */
	uint32_t name;
};

struct search {
	Elf *elf;
	size_t section_names;
	struct elf_functions *functions;
	size_t functions_room, strings_room;
	size_t name_bytes;
	struct slot *slots;
	size_t slot_count, slot_room;
	struct resolved *resolved;
	size_t resolved_count, resolved_room;
};

static int compare_slots(const void *left, const void *right)
{
	uint64_t a, b;

	memcpy(&a, left, sizeof(a));
	memcpy(&b, right, sizeof(b));
	return a < b ? -1 : a > b;
}

static int add_slots(struct search *search, Elf_Scn *section,
		     const GElf_Shdr *header)
{
	Elf_Scn *symbols = elf_getscn(search->elf, header->sh_link);
	Elf_Data *data = NULL;
	GElf_Rela rela;

	if (symbols && header->sh_size <= RELOCATION_BYTES_MAX)
		data = elf_getdata(section, NULL);
	for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
		uint64_t type = GELF_R_TYPE(rela.r_info);
		bool is_resolved = type == R_X86_64_IRELATIVE;

		if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
		     !is_resolved) ||
		    search->slot_count == SLOTS_MAX)
			continue;
		if (grow_array(search->slots, search->slot_room,
			       search->slot_count + 1))
			return -ENOMEM;
		search->slots[search->slot_count++] = (struct slot){
			.vaddr = rela.r_offset,
			.symbols = is_resolved ? NULL : symbols,
			.symbol = GELF_R_SYM(rela.r_info),
			.resolver = (uint64_t)rela.r_addend,
		};
	}
	return 0;
}

static int find_resolved(struct search *search)
{
	const struct elf_functions *functions = search->functions;

	for (size_t i = 0; i < functions->count; i++) {
		if (!(functions->list[i].rank & ELF_RANK_IFUNC))
			continue;
		if (grow_array(search->resolved, search->resolved_room,
			       search->resolved_count + 1))
			return -ENOMEM;
		search->resolved[search->resolved_count++] =
			(struct resolved){ functions->list[i].start,
					   functions->list[i].name };
	}
	if (search->resolved_count)
		qsort(search->resolved, search->resolved_count,
		      sizeof(*search->resolved), compare_slots);
	return 0;
}

static const char *name_of_slot(Elf *elf, const struct slot *slot)
{
	Elf_Data *data = elf_getdata(slot->symbols, NULL);
	GElf_Shdr header;
	GElf_Sym symbol;
	const char *name;

	if (!data || !gelf_getshdr(slot->symbols, &header) ||
	    header.sh_type != SHT_DYNSYM ||
	    !gelf_getsym(data, (int)slot->symbol, &symbol))
		return NULL;
	name = elf_strptr(elf, header.sh_link, symbol.st_name);
	return name && *name ? name : NULL;
}

static int add_stub_function(struct search *search, uint64_t start,
			     uint64_t bytes, uint8_t rank, uint32_t name)
{
	struct elf_functions *functions = search->functions;

	if (grow_array(functions->list, search->functions_room,
		       functions->count + 1))
		return -ENOMEM;
	functions->list[functions->count++] = (struct elf_function){
		.start = start,
		.size = bytes % (STUB_BYTES_MAX + 1),
		.rank = rank,
		.name = name,
	};
	return 0;
}

static int add_import(struct search *search, uint64_t start, uint64_t bytes,
		      const char *name)
{
	struct elf_functions *functions = search->functions;
	size_t at = functions->string_bytes;
	size_t length = strnlen(name, NAME_BYTES_MAX - search->name_bytes);
	size_t wanted = at + length + sizeof(ELF_STUB_MARK);

	search->name_bytes += length;
	if (name[length])
		return 0;
	if (grow_array(functions->strings, search->strings_room, wanted))
		return -ENOMEM;
	memcpy(functions->strings + at, name, length);
	memcpy(functions->strings + at + length, ELF_STUB_MARK,
	       sizeof(ELF_STUB_MARK));
	functions->string_bytes = wanted;
	return add_stub_function(search, start, bytes, ELF_RANK_STUB,
				 (uint32_t)at);
}

static int add_plt_stub(struct search *search, uint64_t start, uint64_t bytes,
			const struct slot *slot)
{
	const struct resolved *own = NULL;
	const char *name;

	if (slot->symbols) {
		name = name_of_slot(search->elf, slot);
		return name ? add_import(search, start, bytes, name) : 0;
	}
	/* A stub of an own function has the name of the function. */
	if (search->resolved_count)
		own = bsearch(&slot->resolver, search->resolved,
			      search->resolved_count, sizeof(*own),
			      compare_slots);
	return own ? add_stub_function(search, start, bytes, ELF_RANK_IMPORT,
				       own->name)
		   : 0;
}

static int add_section_stubs(struct search *search, Elf_Scn *section,
			     const GElf_Shdr *header)
{
	uint64_t each = header->sh_entsize;
	const Elf_Data *data = elf_getdata(section, NULL);
	const uint8_t *code = data ? data->d_buf : NULL;
	int err = 0;

	if (each < JUMP_BYTES || each > STUB_BYTES_MAX)
		each = STUB_BYTES;
	for (size_t at = 0; code && !err && at + JUMP_BYTES <= data->d_size;
	     at++) {
		const struct slot *slot;
		struct slot wanted = { 0 };
		int32_t offset;

		if (code[at] != 0xff || code[at + 1] != 0x25)
			continue;
		memcpy(&offset, code + at + 2, sizeof(offset));
		wanted.vaddr = header->sh_addr + at + JUMP_BYTES +
			       (uint64_t)(int64_t)offset;
		slot = bsearch(&wanted, search->slots, search->slot_count,
			       sizeof(*slot), compare_slots);
		if (slot)
			err = add_plt_stub(search,
					   header->sh_addr + at - at % each,
					   each, slot);
	}
	return err;
}

static bool is_rela(const struct search *search, const GElf_Shdr *header)
{
	(void)search;
	return header->sh_type == SHT_RELA;
}

static bool is_plt(const struct search *search, const GElf_Shdr *header)
{
	const char *name =
		elf_strptr(search->elf, search->section_names, header->sh_name);

	return header->sh_type == SHT_PROGBITS &&
	       (header->sh_flags & SHF_EXECINSTR) &&
	       header->sh_size <= CODE_BYTES_MAX && name &&
	       !strncmp(name, ".plt", 4);
}

static int each_section(struct search *search,
			bool (*is_wanted)(const struct search *search,
					  const GElf_Shdr *header),
			int (*add)(struct search *search, Elf_Scn *section,
				   const GElf_Shdr *header))
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int err = 0;

	while (!err && (section = elf_nextscn(search->elf, section)))
		if (gelf_getshdr(section, &header) &&
		    is_wanted(search, &header))
			err = add(search, section, &header);
	return err;
}

int elf_stubs_add(Elf *elf, struct elf_functions *functions)
{
	struct search search = {
		.elf = elf,
		.functions = functions,
		.functions_room = functions->count,
		.strings_room = functions->string_bytes,
	};
	GElf_Ehdr file;
	int err;

	if (!gelf_getehdr(elf, &file) || file.e_machine != EM_X86_64 ||
	    elf_getshdrstrndx(elf, &search.section_names))
		return 0;
	err = each_section(&search, is_rela, add_slots);
	if (search.slot_count)
		qsort(search.slots, search.slot_count, sizeof(*search.slots),
		      compare_slots);
	if (!err)
		err = find_resolved(&search);
	if (!err && search.slot_count)
		err = each_section(&search, is_plt, add_section_stubs);
	free(search.resolved);
	free(search.slots);
	return err;
}
