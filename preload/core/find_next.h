/* SPDX-License-Identifier: Apache-2.0
 *
 * find_next - definitions that the program would use without the shim: those
 * behind the shim in the dynamic linker's order. Callable from any context.
 */
#ifndef PERFREC_PRELOAD_CORE_FIND_NEXT_H
#define PERFREC_PRELOAD_CORE_FIND_NEXT_H

#include <link.h>
#include <stdbool.h>

/* Returns the first definition of @name behind the shim: as dlsym(RTLD_NEXT),
 * but also from libraries opened later, and at last from the C library. NULL if
 * there is none. Takes no lock, allocates nothing, keeps errno and
 * dlerror(). */
void *find_next(const char *name);

#define NEXT(function)                                                        \
	({                                                                    \
		static __typeof__(function) *next_;                           \
		if (!next_)                                                   \
			next_ = (__typeof__(function) *)find_next(#function); \
		next_;                                                        \
	})

/* find_next() without the C library, unless that is behind the shim. Sets
 * *@map, if not NULL, to the module with the definition. */
void *find_behind(const char *name, const struct link_map **map);

/* Returns true if @name is defined in the program or in front of the shim. */
bool find_any_in_front(const char *name);

/* Returns true if @map is the program or a library in front of the shim. Such a
 * module may call the shim to reach the next definition, so the shim must not
 * return that module's own. */
bool find_is_in_front(const struct link_map *map);

#endif
