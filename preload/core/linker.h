/* SPDX-License-Identifier: Apache-2.0
 *
 * linker - the dynamic linker and its list of modules, found without an
 * imported symbol, which a program might define. The functions call no other
 * library, take no lock and keep errno. Callable from any context.
 */
#ifndef PERFREC_PRELOAD_CORE_LINKER_H
#define PERFREC_PRELOAD_CORE_LINKER_H

#include <link.h>
#include <stdbool.h>

struct elf_tables;

/* Returns true once the dynamic linker has relocated the shim. Before that,
 * pointers in variables and thread-local variables are invalid. */
bool linker_has_relocated(void);

/* Returns false while the dynamic linker loads or relocates modules: at the
 * program's start and during dlopen() and dlclose(). */
bool linker_is_done(void);

/* Returns the dynamic linker's data for debuggers; NULL if not found. */
const struct r_debug *linker_debug(void);

/* Fills @tables with the dynamic linker's. Returns false if it is not found. */
bool linker_tables(struct elf_tables *tables);

/* Returns the shim's list entry; NULL if not found. */
const struct link_map *linker_shim(void);

/* Returns the first module of the shim's list; NULL if not found. */
const struct link_map *linker_first(void);

/* Returns the entry of glibc; NULL if it is not in the list. */
const struct link_map *linker_libc(void);

#endif
