/* SPDX-License-Identifier: Apache-2.0
 *
 * filter - decides which functions the options --filter and --exclude leave
 * out. Their patterns are those of name_pattern.h.
 *
 * Any thread may call these functions, but see filter_publish().
 */
#ifndef PERFREC_COLLECTOR_NAMES_FILTER_H
#define PERFREC_COLLECTOR_NAMES_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filter_matches;
struct modules;
struct page_shm;

struct filter {
	const char *const *only; /* the patterns of --filter; if there are none,
				  * every function passes */
	size_t only_count;
	const char *const *except; /* the patterns of --exclude */
	size_t except_count;
};

/* Returns whether @filter has any pattern. */
bool filter_is_active(const struct filter *filter);
/* Returns whether @filter leaves out the annotation @name. --filter concerns
 * functions only, and never leaves out an annotation. --exclude leaves it out
 * if GLOB matches @name, or if @GLOB matches "annotation" (SITE_MODULE). */
bool filter_excludes_site(const struct filter *filter, const char *name);
/* Returns whether @filter leaves out the function @name of the module with the
 * path @module. */
bool filter_excludes(const struct filter *filter, const char *name,
		     const char *module);
/*
 * Tells the program which functions of @modules @filter leaves out. Writes
 * their addresses into the table of the arena that starts with @page, and sets
 * page->filter_shift. @room is the number of entries in the table, a power of
 * two. If there is nothing to tell, or no memory, the page stays as it is.
 * Returns how many functions are left out; 0 without memory. Replay must
 * withhold the functions that did not fit into the table. May read symbol
 * tables, which takes time: a drain thread must not call this. @matches (may be
 * NULL) learns of all functions of @modules.
 */
uint64_t filter_publish(const struct filter *filter, struct modules *modules,
			struct page_shm *page, uint32_t room,
			struct filter_matches *matches);

#endif
