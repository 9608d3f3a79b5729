/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_jump_find - finds a caller's own C++ runtime or unwinder.
 *
 * dlsym(RTLD_NEXT) searches the libraries that the program was linked with. A
 * plugin loaded with RTLD_LOCAL may bring a C++ runtime that only the plugin
 * and its dependencies see, and two plugins may bring two runtimes. The wrong
 * runtime corrupts an exception.
 *
 * The caller's own relocations show the dynamic linker's choice. The caller
 * refers to another function of the same runtime (@beside), which the shim does
 * not interpose and which the caller always uses first. The library that this
 * reference is bound to is the right one.
 *
 * An executable that is not position independent has no such reference, because
 * it refers to functions by addresses in itself. Then the first library behind
 * the shim that defines the function is right: only the program and libraries
 * linked with it lack these references, and their dependencies come first in
 * the search order (find_next.c).
 */
#include "preload/flow/interpose_jump_find.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "preload/core/elf_tables.h"
#include "preload/core/find_next.h"
#include "preload/core/libc.h"

static bool find_all(const struct link_map *map,
		     const struct jump_wanted *wanted,
		     void *functions[JUMP_FIND_MAX])
{
	struct elf_tables tables;

	elf_tables_of(&tables, map);
	for (size_t i = 0; i < JUMP_FIND_MAX; i++)
		functions[i] =
			wanted->names[i]
				? elf_tables_find(&tables, wanted->names[i])
				: NULL;
	return functions[0];
}

/* Finds the functions in the first library behind the shim that has them. */
static void find_anywhere(const struct jump_wanted *wanted,
			  void *functions[JUMP_FIND_MAX])
{
	const struct link_map *map;

	if (find_behind(wanted->names[0], &map))
		find_all(map, wanted, functions);
}

/* Finds the functions in the library that @module's reference to
 * @wanted->beside is bound to. Returns false if there is none, or if that
 * library is in front of the shim: it calls the shim itself to reach the next
 * one. */
static bool find_beside(const struct dl_find_object *module,
			const struct jump_wanted *wanted,
			struct jump_found *found)
{
	struct dl_find_object runtime;
	struct elf_tables tables;

	found->end = module->dlfo_map_end;
	found->eh_frame = module->dlfo_eh_frame;
	elf_tables_of(&tables, module->dlfo_link_map);
	found->slot = elf_tables_slot(&tables, wanted->beside);
	if (!found->slot)
		return false;
	found->bound = *found->slot;
	if (libc()->find_object(found->bound, &runtime) ||
	    find_is_in_front(runtime.dlfo_link_map))
		return false;
	return find_all(runtime.dlfo_link_map, wanted, found->functions);
}

/*
 * Returns true if @entry is valid for @module. Another module may have been
 * loaded at the address of an unloaded one. If all fields agree and it is bound
 * to the same runtime, the entry is right for it as well.
 */
static bool is_entry_for(const struct jump_cache_entry *entry,
			 const struct dl_find_object *module)
{
	return entry->map == module->dlfo_link_map &&
	       entry->start == module->dlfo_map_start &&
	       entry->found.end == module->dlfo_map_end &&
	       entry->found.eh_frame == module->dlfo_eh_frame &&
	       *entry->found.slot == entry->found.bound;
}

static bool cache_load(const struct jump_cache_entry *entry,
		       const struct dl_find_object *module,
		       struct jump_found *found)
{
	if (!is_entry_for(entry, module))
		return false;
	*found = entry->found;
	/* A signal handler may have stored another module here meanwhile. */
	__asm__ volatile("" ::: "memory");
	return is_entry_for(entry, module);
}

/* If a signal handler stores another module between these stores, start or map
 * belongs to that module, so is_entry_for() matches neither. */
static void cache_store(struct jump_cache_entry *entry,
			const struct dl_find_object *module,
			const struct jump_found *found)
{
	entry->map = NULL;
	__asm__ volatile("" ::: "memory");
	entry->start = module->dlfo_map_start;
	__asm__ volatile("" ::: "memory");
	entry->found = *found;
	__asm__ volatile("" ::: "memory");
	entry->map = module->dlfo_link_map;
}

void jump_find(struct jump_cache *cache, const struct jump_wanted *wanted,
	       const void *return_address, void *functions[JUMP_FIND_MAX])
{
	struct jump_cache_entry *entry;
	struct dl_find_object module;
	struct jump_found found;

	functions[0] = functions[1] = NULL;
	if (libc()->find_object((void *)return_address, &module)) {
		find_anywhere(wanted, functions);
		return;
	}
	entry = &cache->entries[(uintptr_t)module.dlfo_link_map / 64 %
				JUMP_CACHE_ENTRIES];
	if (!cache_load(entry, &module, &found)) {
		if (!find_beside(&module, wanted, &found)) {
			find_anywhere(wanted, functions);
			return;
		}
		cache_store(entry, &module, &found);
	}
	memcpy(functions, found.functions, sizeof(found.functions));
}
