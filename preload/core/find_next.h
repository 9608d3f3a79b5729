/* SPDX-License-Identifier: Apache-2.0
 *
 * find_next - what lies behind the shim: the definitions that a program would
 * use if the shim were not there.
 */
#ifndef PERFREC_PRELOAD_CORE_FIND_NEXT_H
#define PERFREC_PRELOAD_CORE_FIND_NEXT_H

#include <link.h>
#include <stdbool.h>

/*
 * The first definition of @name behind the shim in the dynamic linker's order,
 * as dlsym(RTLD_NEXT) finds it; also one in a library that was opened since,
 * which dlsym() cannot see from here. Where there is none, the C library's
 * own; else NULL. Takes no lock, allocates nothing, leaves errno and dlerror()
 * alone. Any context.
 */
void *find_next(const char *name);

/* The same, without the C library's where that is not behind the shim. @map,
 * if not NULL, is told which module it is in. */
void *find_behind(const char *name, const struct link_map **map);

/* Whether anything in front of the shim defines @name: the program itself, or a
 * library that is searched before the shim. Any context. */
bool find_any_in_front(const char *name);

/* Whether @map is in front of the shim: the program itself, or a library that
 * is searched before the shim. What is there may call us to find the next, and
 * must not get itself. */
bool find_is_in_front(const struct link_map *map);

#endif
