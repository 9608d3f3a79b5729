/* SPDX-License-Identifier: Apache-2.0
 *
 * instrumented - searches notes and undefined symbols of all loaded modules.
 * Most programs that a build or shell script starts have no hooks. The search
 * takes tens of microseconds, and saves such programs the hello.
 *
 * The dynamic linker has mapped all data read here, and trusts it except for
 * the notes.
 */
#include "preload/start/instrumented.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

#include "preload/core/elf_tables.h"
#include "preload/core/libc.h"
#include "shared/elf_note.h"
#include "shared/entry_build.h"

/* Returns the end of the part that may have undefined symbols, which come
 * first. In DT_GNU_HASH, word 1 is the index of the first hashed and therefore
 * defined symbol; it is 1 in the empty table of a program without PIE. In
 * DT_HASH, word 1 is the number of all symbols. */
static uint32_t undefined_end(const struct elf_tables *tables)
{
	if (tables->gnu_hash && tables->gnu_hash[1] > 1)
		return tables->gnu_hash[1];
	if (tables->gnu_hash)
		return (uint32_t)(elf_tables_symbol_bytes(tables) /
				  sizeof(*tables->symbols));
	return tables->sysv_hash ? tables->sysv_hash[1] : 0;
}

/* Returns true for a hook, and for the symbol that perfrec.h refers to. */
static bool is_hook_name(const char *name)
{
	return !strcmp(name, "__cyg_profile_func_enter") ||
	       !strcmp(name, "perfrec_shim_1");
}

/* Returns true if @notes has the note of an entry build. */
static bool has_entry_note(const uint8_t *notes, size_t bytes)
{
	struct elf_note note;
	uint64_t at = 0;

	while (elf_note_next(notes, bytes, &at, &note))
		if (elf_note_is(&note, ENTRY_NOTE_NAME, ENTRY_NOTE_TYPE))
			return true;
	return false;
}

/* Returns true if @part of @module is mapped and readable. The dynamic linker
 * reads few notes, and a file may have others anywhere. */
static bool is_loaded(const struct dl_phdr_info *module,
		      const ElfW(Phdr) * part)
{
	for (size_t i = 0; i < module->dlpi_phnum; i++) {
		const ElfW(Phdr) *load = &module->dlpi_phdr[i];

		if (load->p_type == PT_LOAD && load->p_flags & PF_R &&
		    part->p_vaddr >= load->p_vaddr &&
		    part->p_filesz <= load->p_filesz &&
		    part->p_vaddr - load->p_vaddr <=
			    load->p_filesz - part->p_filesz)
			return true;
	}
	return false;
}

static int is_entry_build(struct dl_phdr_info *module, size_t size,
			  void *unused)
{
	(void)size;
	(void)unused;
	for (size_t i = 0; i < module->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &module->dlpi_phdr[i];

		if (header->p_type == PT_NOTE && is_loaded(module, header) &&
		    has_entry_note((const uint8_t *)(module->dlpi_addr +
						     header->p_vaddr),
				   header->p_filesz))
			return 1;
	}
	return 0;
}

static int look_at_module(struct dl_phdr_info *module, size_t size,
			  void *unused)
{
	struct elf_tables tables = { .base = 0 };
	uint32_t end;

	if (is_entry_build(module, size, unused))
		return 1;
	for (size_t i = 0; i < module->dlpi_phnum; i++)
		if (module->dlpi_phdr[i].p_type == PT_DYNAMIC)
			elf_tables_read(
				&tables,
				(const void *)(module->dlpi_addr +
					       module->dlpi_phdr[i].p_vaddr),
				module->dlpi_addr);
	if (!tables.symbols || !tables.names)
		return 0;
	end = undefined_end(&tables);
	for (uint32_t i = 1; i < end; i++)
		if (tables.symbols[i].st_shndx == SHN_UNDEF &&
		    is_hook_name(tables.names + tables.symbols[i].st_name))
			return 1;
	return 0;
}

/* Room for endbr64 and the longest call. */
#define CODE_BYTES 10

/* Returns true if @code, of CODE_BYTES, starts like a function of an entry
 * build (entry_build.h, and XRay's sled). */
static bool begins_with_entry(const unsigned char *code)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	if (!memcmp(code, endbr, sizeof(endbr)))
		code += sizeof(endbr);
	return code[0] == 0xe8 ||
	       ((code[0] == 0x67 || code[0] == 0x90) && code[1] == 0xe8) ||
	       (code[0] == 0xff && code[1] == 0x15) ||
	       (code[0] == 0xeb && code[1] == 0x09);
}

static bool is_entry_at(const struct dl_phdr_info *module, ElfW(Addr) address)
{
	const ElfW(Phdr) code = { .p_vaddr = address - module->dlpi_addr,
				  .p_filesz = CODE_BYTES };

	return is_loaded(module, &code) &&
	       begins_with_entry((const unsigned char *)address);
}

/* Returns 2 if .preinit_array of the first module, the program, has functions
 * of an entry build; else 1. Both end the visit. */
static int look_at_preinit(struct dl_phdr_info *module, size_t size,
			   void *unused)
{
	const ElfW(Dyn) *entry = NULL;
	const ElfW(Addr) *array = NULL;
	size_t bytes = 0;

	if (!is_entry_build(module, size, unused))
		return 1;
	for (size_t i = 0; i < module->dlpi_phnum; i++)
		if (module->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const void *)(module->dlpi_addr +
					       module->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_PREINIT_ARRAY)
			array = (const void *)(module->dlpi_addr +
					       entry->d_un.d_ptr);
		if (entry->d_tag == DT_PREINIT_ARRAYSZ)
			bytes = entry->d_un.d_val;
	}
	for (size_t i = 0; array && i < bytes / sizeof(*array); i++)
		if (is_entry_at(module, array[i]))
			return 2;
	return 1;
}

bool preinit_has_entries(void)
{
	return libc()->iterate_phdr(look_at_preinit, NULL) == 2;
}

bool entry_build(void)
{
	return libc()->iterate_phdr(is_entry_build, NULL);
}

bool instrumented(void)
{
	return libc()->iterate_phdr(look_at_module, NULL);
}
