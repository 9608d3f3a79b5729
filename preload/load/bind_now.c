/* SPDX-License-Identifier: Apache-2.0
 *
 * bind_now - binds the slots of calls (bind_now.h). The search is that of the
 * dynamic linker for modules of the program's start: all of these, in the order
 * of its list, the first definition with the version of the reference. For
 * modules that dlopen() has loaded the order is another one, and not public.
 *
 * LD_BIND_NOW would be less code. But then a program with a call to a function
 * that nobody defines, and that it never makes, would not start.
 */
#include "preload/load/bind_now.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "preload/core/elf_tables.h"
#include "preload/core/libc.h"
#include "preload/core/linker.h"
#include "preload/load/module.h"
#include "shared/atomic.h"

#if defined(__x86_64__)
static const char *end_of_path(const char *path)
{
	const char *part = path;

	for (; *path; path++)
		if (*path == '/')
			part = path + 1;
	return part;
}

/* Returns the module that DT_NEEDED @needed stands for, if it lies behind @last
 * in the list, or else @last. */
static const struct link_map *later_needed(const struct link_map *last,
					   const char *needed)
{
	const struct link_map *map = linker_first();
	struct elf_tables tables;
	bool is_behind = false;

	for (; map; map = map->l_next) {
		elf_tables_of(&tables, map);
		if ((tables.soname && !strcmp(tables.soname, needed)) ||
		    !strcmp(end_of_path(map->l_name), end_of_path(needed)))
			return is_behind ? map : last;
		is_behind |= map == last;
	}
	return last;
}

/* Returns the last module that the program needs, directly or through others, or
 * NULL. dlopen() adds modules behind it. */
static const struct link_map *last_of_start(void)
{
	const struct link_map *map = linker_first(), *last = map;
	struct elf_tables tables;

	for (; map; map = map == last ? NULL : map->l_next) {
		elf_tables_of(&tables, map);
		for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag; entry++)
			if (entry->d_tag == DT_NEEDED && tables.names)
				last = later_needed(
					last, tables.names + entry->d_un.d_val);
	}
	return last;
}

static void *address_of_symbol(const struct elf_tables *tables,
			       const ElfW(Sym) * symbol)
{
	void *address = (void *)(tables->base + symbol->st_value);

	switch (ELF64_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_NOTYPE:
		return address;
	case STT_GNU_IFUNC:
		/* Resolvers elsewhere may rely on constructors. */
		return tables->soname && !strcmp(tables->soname, "libc.so.6")
			       ? elf_tables_resolve(address)
			       : NULL;
	default:
		return NULL;
	}
}

/* Returns the function that the dynamic linker would call for symbol @i of
 * @from, or NULL if that is not certain. Searches no module behind @last. */
static void *find_callee(const struct elf_tables *from, uint32_t i,
			 const struct link_map *last)
{
	const ElfW(Sym) *reference = &from->symbols[i], *found = NULL;
	const char *name = from->names + reference->st_name;
	const char *version = elf_tables_needed_version(from, i);
	const struct link_map *map = linker_first();
	struct elf_tables tables;

	if (ELF64_ST_VISIBILITY(reference->st_other) != STV_DEFAULT ||
	    ELF64_ST_BIND(reference->st_info) == STB_LOCAL)
		return NULL;
	for (; map && !found; map = map == last ? NULL : map->l_next) {
		elf_tables_of(&tables, map);
		/* The dynamic linker searches nothing in the vDSO. */
		if (tables.soname && !strncmp(tables.soname, "linux-", 6))
			continue;
		found = elf_tables_find_exact(&tables, name, version);
		/* The dynamic linker may take a later version. */
		if (!found && !version && elf_tables_version(&tables, name))
			return NULL;
	}
	return found ? address_of_symbol(&tables, found) : NULL;
}

static void bind_call(const struct elf_tables *tables,
		      const struct module *module, const struct link_map *last,
		      const ElfW(Rela) * rela)
{
	uint64_t *slot = (uint64_t *)(tables->base + rela->r_offset);
	const uint32_t i = (uint32_t)ELF64_R_SYM(rela->r_info);
	uint64_t bound, callee;

	if (ELF64_R_TYPE(rela->r_info) != R_X86_64_JUMP_SLOT || !i)
		return;
	/* relaxed: one word, which the dynamic linker may store as well */
	bound = atom_load_rlx(slot);
	/* A call that is not bound leads to the module's own stub. */
	if (bound < module->text_start || bound >= module->text_end)
		return;
	callee = (uintptr_t)find_callee(tables, i, last);
	if (callee && callee != bound)
		/* relaxed: as above */
		atom_store_rlx(slot, callee);
}

static void bind_calls_of(const struct dl_phdr_info *info,
			  const struct link_map *last)
{
	struct elf_tables tables;
	struct module module;
	size_t count;

	if (!module_describe(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum,
			     info->dlpi_name, &module) ||
	    !module.dynamic)
		return;
	elf_tables_read(&tables, module.dynamic, module.bias);
	/* Slots that are bound already may be read-only by now. */
	if (!tables.symbols || !tables.names || !tables.relocations[1] ||
	    tables.is_symbolic || tables.is_bound)
		return;
	count = tables.bytes[1] / sizeof(ElfW(Rela));
	for (size_t i = 0; i < count; i++)
		bind_call(&tables, &module, last, &tables.relocations[1][i]);
}

/* Has the order of the dynamic linker's list. @context: where to keep
 * last_of_start(). */
static int visit_bound(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct link_map **last = context;

	(void)size;
	/* Here, because only now nobody changes the list. */
	if (!*last)
		*last = last_of_start();
	if (!*last)
		return 1;
	bind_calls_of(info, *last);
	return info->dlpi_addr == (*last)->l_addr;
}

void bind_now(void)
{
	const struct link_map *last = NULL;

	libc()->iterate_phdr(visit_bound, &last);
}
#else
void bind_now(void)
{
}
#endif
