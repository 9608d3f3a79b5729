/* SPDX-License-Identifier: Apache-2.0
 *
 * bind - writes slots of a module through /proc/self/mem, because most are
 * read-only by now, or may be soon by a concurrent dlopen(). The kernel writes
 * an aligned word atomically, so a concurrent call through the slot reaches one
 * function or the other.
 */
#include "preload/load/bind.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>

#include "preload/core/elf_tables.h"
#include "preload/core/find_next.h"
#include "preload/core/linker.h"
#include "preload/core/sys.h"
#include "preload/load/module.h"
#include "shared/compiler.h"

#if defined(__x86_64__)
static const uint32_t g_types[] = { R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT,
				    R_X86_64_64 };
#elif defined(__aarch64__)
static const uint32_t g_types[] = { R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT,
				    R_AARCH64_ABS64 };
#endif

struct binder {
	const struct module *module;
	struct elf_tables tables, shim, libc;
	long mem; /* /proc/self/mem; -1: not open */
};

/* Returns true if @module, or a module loaded after it, defines @name. */
static bool is_defined_inside(const struct module *module, const char *name)
{
	const struct link_map *map = linker_first();
	struct elf_tables tables;

	while (map && map->l_ld != module->dynamic)
		map = map->l_next;
	for (; map; map = map->l_next) {
		elf_tables_of(&tables, map);
		if (elf_tables_find(&tables, name))
			return true;
	}
	return false;
}

/* Returns true if @bound skips the shim only because of RTLD_DEEPBIND. */
static bool is_past_shim(const struct binder *binder, const char *name,
			 void *bound)
{
	const struct module *module = binder->module;

	if (bound == find_next(name) ||
	    bound == elf_tables_find(&binder->libc, name))
		return true;
	/* Its own code: not bound before the first call. */
	return (uintptr_t)bound >= module->start &&
	       (uintptr_t)bound < module->end &&
	       !is_defined_inside(module, name);
}

static bool is_pointer(const ElfW(Rela) * rela)
{
	for (size_t i = 0; i < ARRAY_SIZE(g_types); i++)
		if (ELF64_R_TYPE(rela->r_info) == g_types[i])
			return !rela->r_addend && ELF64_R_SYM(rela->r_info);
	return false;
}

static void bind_slot(struct binder *binder, const ElfW(Rela) * rela)
{
	const struct elf_tables *tables = &binder->tables;
	void **slot = (void **)(tables->base + rela->r_offset), *ours;
	const char *name;

	if (!is_pointer(rela))
		return;
	name = tables->names +
	       tables->symbols[ELF64_R_SYM(rela->r_info)].st_name;
	ours = elf_tables_find(&binder->shim, name);
	if (!ours || *slot == ours || !is_past_shim(binder, name, *slot))
		return;
	if (binder->mem < 0)
		binder->mem = sys(SYS_openat, AT_FDCWD, "/proc/self/mem",
				  O_WRONLY | O_CLOEXEC);
	if (binder->mem >= 0)
		sys(SYS_pwrite64, binder->mem, &ours, sizeof(ours), slot);
}

void bind_module(const struct module *module)
{
	const struct link_map *shim = linker_shim(), *libc = linker_libc();
	struct binder binder = { .module = module, .mem = -1 };
	const struct elf_tables *tables = &binder.tables;

	if (!module->dynamic || !shim || !libc)
		return;
	elf_tables_read(&binder.tables, module->dynamic, module->bias);
	elf_tables_of(&binder.shim, shim);
	elf_tables_of(&binder.libc, libc);
	if (!tables->symbols || !tables->names)
		return;
	for (size_t table = 0; table < 2; table++) {
		const ElfW(Rela) *rela = tables->relocations[table];
		size_t count = rela ? tables->bytes[table] / sizeof(*rela) : 0;

		for (size_t i = 0; i < count; i++)
			bind_slot(&binder, &rela[i]);
	}
	if (binder.mem >= 0)
		sys(SYS_close, binder.mem);
}
