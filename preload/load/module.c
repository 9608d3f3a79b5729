/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/load/module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "preload/core/elf_tables.h"
#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/sys.h"
#include "shared/compiler.h"
#include "shared/elf_note.h"
#include "shared/entry_build.h"
#include "shared/hash.h"
#include "shared/ring_shm.h"

/* Linkers place the program headers in the page of the ELF header. */
#define HEADERS_BYTES_MAX 4096
/* Entries read of a dynamic section; linkers make 20 to 30. */
#define DYNAMIC_MAX 63

static void read_notes(const uint8_t *notes, uint64_t bytes,
		       struct module *module)
{
	struct elf_note note;
	uint64_t at = 0;

	while (elf_note_next(notes, bytes, &at, &note))
		if (elf_note_is(&note, ELF_NOTE_GNU, NT_GNU_BUILD_ID) &&
		    !module->build_id_bytes) {
			module->build_id = note.desc;
			module->build_id_bytes = (uint16_t)MIN(
				note.desc_bytes, (uint32_t)MAP_BUILD_ID_MAX);
		} else if (elf_note_is(&note, ENTRY_NOTE_NAME,
				       ENTRY_NOTE_TYPE)) {
			module->entry_build = true;
		}
}

/* Returns true if @note lies in a readable loaded segment. A note need not. */
static bool is_note_loaded(const ElfW(Phdr) * note, const ElfW(Phdr) * headers,
			   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const ElfW(Phdr) *load = &headers[i];

		if (load->p_type == PT_LOAD && load->p_flags & PF_R &&
		    note->p_vaddr >= load->p_vaddr &&
		    note->p_vaddr + note->p_filesz <=
			    load->p_vaddr + load->p_filesz)
			return true;
	}
	return false;
}

bool module_describe(uint64_t bias, const ElfW(Phdr) * headers, size_t count,
		     const char *name, struct module *module)
{
	uint64_t page = libc()->getauxval(AT_PAGESZ);

	*module = (struct module){ .start = UINT64_MAX,
				   .text_start = UINT64_MAX,
				   .bias = bias,
				   .name = name,
				   .build_id = (const uint8_t *)"" };
	for (size_t i = 0; i < count; i++) {
		const ElfW(Phdr) *header = &headers[i];
		uint64_t address = bias + header->p_vaddr;
		uint64_t end = ALIGN_UP(address + header->p_memsz, page);

		if (header->p_type == PT_DYNAMIC) {
			module->dynamic = (const void *)address;
			module->dynamic_bytes = header->p_memsz;
		} else if (header->p_type == PT_LOAD) {
			module->start = MIN(module->start, address & -page);
			module->end = MAX(module->end, end);
			if (!(header->p_flags & PF_X))
				continue;
			module->text_start =
				MIN(module->text_start, address & -page);
			module->text_end = MAX(module->text_end, end);
		} else if (header->p_type == PT_NOTE &&
			   is_note_loaded(header, headers, count)) {
			read_notes((const uint8_t *)address, header->p_filesz,
				   module);
		}
	}
	module->identity = hash_bytes(HASH_START, module->build_id,
				      module->build_id_bytes);
	module->identity = hash_bytes(module->identity, name, strlen(name));
	return module->end;
}

bool module_of(uint64_t function, struct module *module)
{
	struct dl_find_object found;
	const ElfW(Ehdr) * elf;

	if (libc()->find_object((void *)function, &found))
		return false;
	elf = found.dlfo_map_start;
	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) ||
	    elf->e_phoff > HEADERS_BYTES_MAX ||
	    elf->e_phoff + elf->e_phnum * sizeof(ElfW(Phdr)) >
		    HEADERS_BYTES_MAX)
		return false;
	return module_describe(found.dlfo_link_map->l_addr,
			       (const void *)((const char *)elf + elf->e_phoff),
			       elf->e_phnum, found.dlfo_link_map->l_name,
			       module);
}

bool module_is(uint64_t address, const void *handle)
{
	struct dl_find_object found;

	return !libc()->find_object((void *)address, &found) &&
	       found.dlfo_link_map == handle;
}

/* Returns true for a name with a folder. The program (an empty name) and the
 * vDSO have none, and no file that could be deleted. */
static bool has_folder(const char *name)
{
	while (*name && *name != '/')
		name++;
	return *name;
}

bool module_is_gone(const struct module *module)
{
	const char *name = module->name;

	if (g_shim.no_syscalls || !has_folder(name))
		return false;
	/* Path of a descriptor, mostly of a memfd that will be closed soon. */
	if (!strncmp(name, "/proc/", 6) || !strncmp(name, "/dev/fd/", 8))
		return true;
	return sys(SYS_faccessat, AT_FDCWD, name, F_OK) < 0;
}

static bool is_inside_module(const struct module *module,
			     const struct iovec *range)
{
	uint64_t begin = (uintptr_t)range->iov_base;

	return begin >= module->start && begin < module->end &&
	       range->iov_len && range->iov_len <= module->end - begin;
}

bool module_names(const struct module *module, struct iovec out[2])
{
	ElfW(Dyn) dynamic[DYNAMIC_MAX + 1] = { 0 };
	const struct iovec from = { (void *)module->dynamic,
				    module->dynamic_bytes };
	const struct iovec to = {
		dynamic, MIN(from.iov_len, sizeof(dynamic) - sizeof(dynamic[0]))
	};
	struct elf_tables tables;

	if (!module->dynamic || sys(SYS_process_vm_readv, g_shim.pid, &to, 1,
				    &from, 1, 0) != (long)to.iov_len)
		return false;
	elf_tables_read(&tables, dynamic, module->bias);
	out[0] = (struct iovec){ (void *)tables.symbols,
				 elf_tables_symbol_bytes(&tables) };
	out[1] = (struct iovec){ (void *)tables.names, tables.name_bytes };
	return is_inside_module(module, &out[0]) &&
	       is_inside_module(module, &out[1]);
}
