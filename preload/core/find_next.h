/* SPDX-License-Identifier: Apache-2.0
 *
 * find_next - the definitions that a program would use if the shim were not
 * there: those behind the shim in the dynamic linker's order.
 */
#ifndef PERFREC_PRELOAD_CORE_FIND_NEXT_H
#define PERFREC_PRELOAD_CORE_FIND_NEXT_H

#include <link.h>
#include <stdbool.h>

/*
 * The first definition of @name behind the shim, as dlsym(RTLD_NEXT) finds it;
 * or one in a library that was opened since, which dlsym() cannot see from
 * here. Where there is neither: the C library's own; else NULL. Takes no lock,
 * allocates nothing, leaves errno and dlerror() alone. Any context.
 */
void *find_next(const char *name);

/* The next definition of a function that is declared, looked up once. */
#define NEXT(function)                                                        \
	({                                                                    \
		static __typeof__(function) *next_;                           \
		if (!next_)                                                   \
			next_ = (__typeof__(function) *)find_next(#function); \
		next_;                                                        \
	})

/* As find_next(), but never the C library's own where that is not behind the
 * shim. If @map is not NULL, *@map becomes the module that has the definition.
 */
void *find_behind(const char *name, const struct link_map **map);

/* Whether the program itself, or a library that is searched before the shim,
 * defines @name. Any context. */
bool find_any_in_front(const char *name);

/* Whether @map is the program itself, or a library that is searched before the
 * shim. What lies there may call the shim to find the next definition, and must
 * not be given its own. Any context. */
bool find_is_in_front(const struct link_map *map);

#endif
