/* SPDX-License-Identifier: Apache-2.0
 *
 * locations - the locations that the stacks of a profile are made of: addresses
 * in modules, and names such as "[kernel]". Several processes that run the same
 * file share its locations. A part of profile_tree. These functions read files:
 * only the jobs thread calls them, one call at a time.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_LOCATIONS_H
#define PERFREC_COLLECTOR_PROFILE_LOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"

struct budget;
struct modules;
struct out_pprof;
struct stack_frame;
struct symbol_cache;

struct locations {
	struct symbol_cache *cache;
	struct pool places; /* modules */
	struct pool items; /* locations, by number */
};

/* Begins without locations. @cache and @budget must outlive @locations. */
void locations_init(struct locations *locations, struct symbol_cache *cache,
		    struct budget *budget);
void locations_release(struct locations *locations);

/* Sets *@out to the number of the location of @frame, a frame of the process of
 * @modules. All code of perfrec itself has one location, "[perfrec]": see
 * locations_is_own(). 0 or -ENOMEM. */
int locations_find(struct locations *locations, struct modules *modules,
		   const struct stack_frame *frame, uint32_t *out);
/* Sets *@out to the number of a location that is no place in a program, and has
 * the name @name, which is copied. 0 or -ENOMEM. */
int locations_mark(struct locations *locations, const char *name,
		   uint32_t *out);
/* Whether location @number is perfrec itself: hooks, wrappers and thunks in the
 * program, or the object "[perfrec]" that a thread waits on. */
bool locations_is_own(const struct locations *locations, uint32_t number);
/* Whether location @number is the kernel or the vdso: it works for the frame
 * that called it. */
bool locations_is_kernel(const struct locations *locations, uint32_t number);
/* Adds all locations of @from, which has the same cache. Sets out[i] to the
 * number that its location i has here. 0 or -ENOMEM. */
int locations_merge(struct locations *locations, const struct locations *from,
		    uint32_t *out);
/* Sets *@name to the name of the function of location @number, and *@module to
 * the path of its module or "". Both live until the symbol cache ends. */
void locations_name(const struct locations *locations, uint32_t number,
		    const char **name, const char **module);
/* The functions of all locations, as locations_write() names them: those of
 * location i are name[first[i]] to name[first[i + 1] - 1], innermost first.
 * The names live until the symbol cache ends. */
struct location_names {
	const char **name;
	size_t *first;
};

/* Finds the functions of all locations; reads debug information. With @inlined
 * false, a location has one name, that of the function which has code of its
 * own. The caller ends *@out with location_names_release(), whatever this
 * returns: 0 or -ENOMEM. */
int location_names_find(const struct locations *locations, bool inlined,
			struct location_names *out);
void location_names_release(struct location_names *names);

/*
 * Writes the mappings, functions and locations. Location i gets the id i + 1.
 * The first mapping is that of the program whose main thread has the name
 * @program (NULL: unknown), if there is one.
 * The entry of a function has one line, that of the function itself: a function
 * that is inlined there, and instrumented, has calls of its own. Other
 * locations have a line for each function that is inlined there. 0 or -ENOMEM.
 */
int locations_write(const struct locations *locations, const char *program,
		    struct out_pprof *out);

#endif
