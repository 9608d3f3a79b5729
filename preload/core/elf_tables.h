/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_tables - the dynamic symbols of a loaded module, as the dynamic linker
 * has mapped and trusts them. Nothing here allocates, locks, changes errno or
 * calls anybody but the resolver of an STT_GNU_IFUNC. Any context.
 */
#ifndef PERFREC_PRELOAD_CORE_ELF_TABLES_H
#define PERFREC_PRELOAD_CORE_ELF_TABLES_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* What a dynamic section points to; NULL or 0 where it has none of that. */
struct elf_tables {
	ElfW(Addr) base;
	const ElfW(Sym) * symbols;
	const char *names;
	size_t name_bytes;
	const char *soname;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const uint16_t *versions; /* of symbols */
	const ElfW(Rela) * relocations[2]; /* of data and of calls */
	size_t bytes[2]; /* of relocations */
};

/* Reads the section @entry of a module that lies at @base. */
void elf_tables_read(struct elf_tables *tables, const ElfW(Dyn) * entry,
		     ElfW(Addr) base);
/* Of a module in the dynamic linker's list. */
void elf_tables_of(struct elf_tables *tables, const struct link_map *map);

/* How many bytes the symbols take: no tag says so. They end where the next
 * table begins, whichever the linker has put there; 0: none comes behind. */
size_t elf_tables_symbol_bytes(const struct elf_tables *tables);

/* Where the module defines @name, in the version that dlsym() takes; NULL: it
 * does not. Of an STT_GNU_IFUNC it is the function that its resolver names. */
void *elf_tables_find(const struct elf_tables *tables, const char *name);

#if defined(__aarch64__)
/* From now on resolvers of an STT_GNU_IFUNC are told that the CPU has @hwcap
 * and
 * @hwcap2 (AT_HWCAP, AT_HWCAP2). Any thread; all of them say the same. */
void elf_tables_set_cpu(unsigned long hwcap, unsigned long hwcap2);
#endif

/* The slot in which a reference of the module to @name was resolved; NULL: it
 * has none. */
void *const *elf_tables_slot(const struct elf_tables *tables, const char *name);

#endif
