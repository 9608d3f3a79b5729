/* SPDX-License-Identifier: Apache-2.0
 *
 * find_next - finds the next definition of a function that the shim interposes.
 *
 * A program, or a library preloaded in front of the shim, may define such a
 * function as well and find the next one by dlsym(RTLD_NEXT): the shim's. So
 * the shim must search from its own position. A search from the head of the
 * list would find the caller again and recurse forever.
 *
 * The order is that of the dynamic linker's list for debuggers: the program,
 * preloaded libraries, their dependencies level by level, then modules opened
 * later. The shim cannot use dlsym(): it takes a lock, may allocate, and
 * discards the pending message of dlerror().
 *
 * Modules from the program's start are never unloaded. Most functions are
 * defined in one of them, so the walk rarely reaches modules that come and go.
 */
#include "preload/core/find_next.h"

#include <stddef.h>

#include "preload/core/elf_tables.h"
#include "preload/core/linker.h"

/* Returns the version that programs use for @name: the C library's default,
 * else the first default behind the shim. A preloaded library may define only
 * that version (libc_malloc_debug). */
static const char *version_of(const char *name)
{
	const struct link_map *shim = linker_shim(), *module = linker_libc();
	const char *version = NULL;
	struct elf_tables tables;

	if (module) {
		elf_tables_of(&tables, module);
		version = elf_tables_version(&tables, name);
	}
	for (module = shim ? shim->l_next : NULL; module && !version;
	     module = module->l_next) {
		elf_tables_of(&tables, module);
		version = elf_tables_version(&tables, name);
	}
	return version;
}

void *find_behind(const char *name, const struct link_map **map)
{
	const struct link_map *shim = linker_shim(), *module;
	const char *version = version_of(name);
	struct elf_tables tables;
	void *found = NULL;

	for (module = shim ? shim->l_next : NULL; module;
	     module = module->l_next) {
		elf_tables_of(&tables, module);
		found = elf_tables_find_version(&tables, name, version);
		if (found)
			break;
	}
	if (map)
		*map = module;
	return found;
}

void *find_next(const char *name)
{
	void *found = find_behind(name, NULL);
	const struct link_map *libc;
	struct elf_tables tables;

	if (found)
		return found;
	libc = linker_libc();
	if (!libc)
		return NULL;
	elf_tables_of(&tables, libc);
	return elf_tables_find(&tables, name);
}

bool find_any_in_front(const char *name)
{
	const struct link_map *shim = linker_shim(), *module;
	const char *version = version_of(name);
	struct elf_tables tables;

	for (module = shim ? shim->l_prev : NULL; module;
	     module = module->l_prev) {
		elf_tables_of(&tables, module);
		if (elf_tables_find_version(&tables, name, version))
			return true;
	}
	return false;
}

bool find_is_in_front(const struct link_map *map)
{
	const struct link_map *shim = linker_shim(), *module;

	for (module = shim ? shim->l_prev : NULL; module;
	     module = module->l_prev)
		if (module == map)
			return true;
	return false;
}
