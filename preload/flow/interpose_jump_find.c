/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_jump_find - finds a caller's own C++ runtime or unwinder.
 *
 * dlsym(RTLD_NEXT) sees what the program itself was linked with. A plugin that
 * was loaded with RTLD_LOCAL may bring a C++ runtime which only it and what it
 * needs can see, and two plugins may bring two. Taking the wrong one corrupts
 * an exception.
 *
 * The caller's own relocations say what the dynamic linker would have chosen.
 * The caller refers to another function of the same runtime (@beside), which
 * the shim does not interpose, and which the caller has needed before it could
 * call ours. The library to which that reference was bound is the right one.
 *
 * There may be no such reference: an executable that is not position
 * independent refers to functions by addresses in itself. Then it is the first
 * library behind the shim that defines the function. Only the program and what
 * it was linked with have no such references, and what they were linked with
 * comes first (find_next.c).
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

/* Take them from the first library behind the shim that has them. */
static void find_anywhere(const struct jump_wanted *wanted,
			  void *functions[JUMP_FIND_MAX])
{
	const struct link_map *map;

	if (find_behind(wanted->names[0], &map))
		find_all(map, wanted, functions);
}

/* Take them from the library to which the reference of @module to
 * @wanted->beside was bound. False if there is none, or if it is in front of
 * the shim: what is called there calls the shim to find the next. */
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
 * Whether @entry is that of @module. Where a module was unloaded there may be
 * another one. If it looks the same in all this and is bound to the same
 * runtime, the entry is as good for it.
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
	/* A signal handler may have stored another module's meanwhile. */
	__asm__ volatile("" ::: "memory");
	return is_entry_for(entry, module);
}

/* A handler may store another module's in between: then start or map are its,
 * and the entry is of no module. */
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
