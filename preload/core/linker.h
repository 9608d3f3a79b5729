/* SPDX-License-Identifier: Apache-2.0
 *
 * linker - the dynamic linker, found without asking for any symbol: whoever
 * imports one may get the program's. None of these calls anybody, locks or
 * changes errno. Any context.
 */
#ifndef PERFREC_PRELOAD_CORE_LINKER_H
#define PERFREC_PRELOAD_CORE_LINKER_H

#include <link.h>
#include <stdbool.h>

struct elf_tables;

/* False while the dynamic linker is still on its way to us: nothing in the
 * shim that holds an address, and no thread-local variable, is right yet. */
bool linker_has_relocated(void);

/* The symbols of the dynamic linker itself. False: it cannot be found. */
bool linker_tables(struct elf_tables *tables);

/* The shim's own place in the list of loaded modules; NULL: not to be found. */
const struct link_map *linker_shim(void);

/* The first module of the list that the shim is in; NULL likewise. */
const struct link_map *linker_first(void);

/* The C library; NULL: not loaded beside the shim. */
const struct link_map *linker_libc(void);

#endif
