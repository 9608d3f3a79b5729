/* SPDX-License-Identifier: Apache-2.0
 *
 * linker - the dynamic linker and its list of modules, found without importing
 * a symbol: a program may define any symbol, and would be given to the shim.
 * Nothing here calls other libraries, locks or changes errno. Any context.
 */
#ifndef PERFREC_PRELOAD_CORE_LINKER_H
#define PERFREC_PRELOAD_CORE_LINKER_H

#include <link.h>
#include <stdbool.h>

struct elf_tables;

/* False as long as the dynamic linker has not relocated the shim: then no
 * variable that holds an address, and no thread-local variable, is right yet.
 */
bool linker_has_relocated(void);

/* False while the dynamic linker loads or relocates modules: at the program's
 * start, and during dlopen() and dlclose(). */
bool linker_is_done(void);

/* Fill @tables with those of the dynamic linker itself. False if it cannot be
 * found. */
bool linker_tables(struct elf_tables *tables);

/* The shim's own place in the list of loaded modules; NULL if it cannot be
 * found.
 */
const struct link_map *linker_shim(void);

/* The first module of the list that the shim is in; NULL if it cannot be found.
 */
const struct link_map *linker_first(void);

/* The C library (glibc); NULL if it is not in that list. */
const struct link_map *linker_libc(void);

#endif
