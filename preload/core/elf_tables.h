/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_tables - the dynamic symbols of a loaded module. The dynamic linker has
 * mapped these tables and trusts them; so does the shim. Nothing here
 * allocates, locks or changes errno, and nothing of the program is called, but
 * the resolver of an STT_GNU_IFUNC. Any context.
 */
#ifndef PERFREC_PRELOAD_CORE_ELF_TABLES_H
#define PERFREC_PRELOAD_CORE_ELF_TABLES_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* What a dynamic section points to. A field is NULL or 0 where the section does
 * not have that entry. */
struct elf_tables {
	ElfW(Addr) base;
	const ElfW(Sym) * symbols;
	const char *names;
	size_t name_bytes;
	const char *soname;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const uint16_t *versions; /* of symbols */
	const ElfW(Verdef) * version_names;
	const ElfW(Rela) * relocations[2]; /* of data and of calls */
	size_t bytes[2]; /* of relocations */
};

/* Fill @tables from the dynamic section @entry of a module that lies at @base.
 */
void elf_tables_read(struct elf_tables *tables, const ElfW(Dyn) * entry,
		     ElfW(Addr) base);
/* The same for a module in the dynamic linker's list. */
void elf_tables_of(struct elf_tables *tables, const struct link_map *map);

/* How many bytes the symbols take. No tag says that; but they end where the
 * next table begins, whichever it is. 0 if no table lies behind them. */
size_t elf_tables_symbol_bytes(const struct elf_tables *tables);

/* Where the module defines @name, in the version that dlsym() takes; NULL if it
 * does not define it. For an STT_GNU_IFUNC that is the function which its
 * resolver returns. */
void *elf_tables_find(const struct elf_tables *tables, const char *name);

/* The same; but it also finds a definition that has version @version, which
 * dlsym() does not take. The dynamic linker binds a program's reference to that
 * version to it. */
void *elf_tables_find_version(const struct elf_tables *tables, const char *name,
			      const char *version);

/* The version of what elf_tables_find() finds; NULL if it has none, or nothing
 * is found. */
const char *elf_tables_version(const struct elf_tables *tables,
			       const char *name);

#if defined(__aarch64__)
/* From now on resolvers of an STT_GNU_IFUNC are told that the CPU has @hwcap
 * and @hwcap2 (AT_HWCAP, AT_HWCAP2). Any thread; all of them say the same. */
void elf_tables_set_cpu(unsigned long hwcap, unsigned long hwcap2);
#endif

/* The slot in which the module's reference to @name was resolved; NULL if it
 * has none. */
void *const *elf_tables_slot(const struct elf_tables *tables, const char *name);

#endif
