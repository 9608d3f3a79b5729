/* SPDX-License-Identifier: Apache-2.0
 *
 * locations - the locations in the stacks of a profile: addresses in modules,
 * and names such as "[kernel]". Processes with the same file share its
 * locations. Part of profile_tree. These functions read files: the jobs thread or
 * another thread that may wait calls them, one at a time. Functions that take
 * const locations also keep the source lines that they find.
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

/* @cache and @budget must outlive @locations. */
void locations_init(struct locations *locations, struct symbol_cache *cache,
		    struct budget *budget);
void locations_release(struct locations *locations);

/* Sets *@out to the location of @frame in the process of @modules. All code of
 * perfrec has one location, "[perfrec]": see locations_is_own(). Returns 0 or
 * -ENOMEM. */
int locations_find(struct locations *locations, struct modules *modules,
		   const struct stack_frame *frame, uint32_t *out);
/* Sets *@out to a location outside of programs with the name @name, which is
 * copied. Returns 0 or -ENOMEM. */
int locations_mark(struct locations *locations, const char *name,
		   uint32_t *out);
/* Returns true if location @number is perfrec: hooks, wrappers and thunks in
 * the program, or the object "[perfrec]" of a wait. */
bool locations_is_own(const struct locations *locations, uint32_t number);
/* Returns true if location @number works for its calling frame: the kernel, or a
 * clock (modules_is_clock()). */
bool locations_serves_caller(const struct locations *locations,
			     uint32_t number);
/* Adds all locations of @from, which must have the same cache. Sets out[i] to
 * the new number of location i. Returns 0 or -ENOMEM. */
int locations_merge(struct locations *locations, const struct locations *from,
		    uint32_t *out);
/* Sets *@name to the function of location @number, and *@module to the path of
 * its module or "". Both are valid until the symbol cache ends. */
void locations_name(const struct locations *locations, uint32_t number,
		    const char **name, const char **module);
/* The functions of all locations, named as in locations_write(): those of
 * location i are name[first[i]] to name[first[i + 1] - 1], innermost first.
 * Names are valid until the symbol cache ends. */
struct location_names {
	const char **name;
	size_t *first;
};

/* Finds the functions of all locations; reads debug information. With @inlined
 * false, a location has one name: the function that has its own code. The
 * caller calls location_names_release() in any case. Returns 0 or -ENOMEM. */
int location_names_find(const struct locations *locations, bool inlined,
			struct location_names *out);
void location_names_release(struct location_names *names);

/*
 * Writes mappings, functions and locations. Skips location i if @used is not
 * NULL and @used[i] is false. Location i gets the id i + 1. The first mapping
 * is that of the program whose main thread is @program (NULL: unknown), if
 * there is one. The entry of a function has one line, that of the function
 * itself, because an instrumented function inlined there has its own calls.
 * Other locations have a line for each inlined function. Returns 0 or -ENOMEM.
 */
int locations_write(const struct locations *locations, const char *program,
		    const bool *used, struct out_pprof *out);

#endif
