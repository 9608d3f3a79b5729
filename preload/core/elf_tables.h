/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_tables - the dynamic symbols of a loaded module. The dynamic linker has
 * mapped these tables and trusts them, and so does the shim. The functions do
 * not allocate, lock or change errno; of the program they only call resolvers
 * of STT_GNU_IFUNC symbols. Callable from any context.
 */
#ifndef PERFREC_PRELOAD_CORE_ELF_TABLES_H
#define PERFREC_PRELOAD_CORE_ELF_TABLES_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tables that a dynamic section points to. A field is NULL or 0 if the
 * section lacks the entry. */
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
	const ElfW(Verneed) * needed_versions;
	bool is_symbolic; /* it looks for symbols in itself first */
	bool is_bound; /* its calls are bound when it is loaded */
	bool has_text_relocations; /* the dynamic linker changes its code */
	const ElfW(Rela) * relocations[2]; /* of data and of calls */
	size_t bytes[2]; /* of relocations */
};

/* Fills @tables from the dynamic section @entry of a module loaded at @base. */
void elf_tables_read(struct elf_tables *tables, const ElfW(Dyn) * entry,
		     ElfW(Addr) base);
void elf_tables_of(struct elf_tables *tables, const struct link_map *map);

/* Returns the size of the symbols in bytes. No tag has it, so the next table in
 * memory ends them. 0 if no table follows. */
size_t elf_tables_symbol_bytes(const struct elf_tables *tables);

/* Returns the module's definition of @name in the version that dlsym() returns;
 * NULL if there is none. Resolves an STT_GNU_IFUNC. */
void *elf_tables_find(const struct elf_tables *tables, const char *name);

/* elf_tables_find() that also accepts a hidden definition of version @version,
 * as the dynamic linker does for references with that version. */
void *elf_tables_find_version(const struct elf_tables *tables, const char *name,
			      const char *version);

/* Returns the module's definition of @name for a reference with @version, as the
 * dynamic linker finds it: that version, or one without a version. Without
 * @version: the oldest, which may be hidden, or one without a version. Does not
 * resolve an STT_GNU_IFUNC. NULL if there is none. */
const ElfW(Sym) * elf_tables_find_exact(const struct elf_tables *tables,
					const char *name, const char *version);
/* Returns the version that the module's reference to symbol @i asks for; NULL if
 * none. */
const char *elf_tables_needed_version(const struct elf_tables *tables,
				      uint32_t i);
/* Calls the resolver of an STT_GNU_IFUNC, and returns the function. */
void *elf_tables_resolve(void *resolver);

/* Returns the version that elf_tables_find() finds; NULL if none. */
const char *elf_tables_version(const struct elf_tables *tables,
			       const char *name);

/* Returns the symbol of the thread-local variable @name; its value is the
 * offset in the module's TLS block. NULL if not defined. */
const ElfW(Sym) *
	elf_tables_find_tls(const struct elf_tables *tables, const char *name);

#if defined(__aarch64__)
/* Sets the CPU features (AT_HWCAP, AT_HWCAP2) that IFUNC resolvers receive. Any
 * thread may call this, because all pass the same values. */
void elf_tables_set_cpu(unsigned long hwcap, unsigned long hwcap2);
#endif

/* Returns the resolved slot of the reference to @name; NULL if there is
 * none. */
void *const *elf_tables_slot(const struct elf_tables *tables, const char *name);

#endif
