/* SPDX-License-Identifier: Apache-2.0
 *
 * filter - which functions --filter and --exclude leave out. A pattern is a
 * glob (fnmatch(3)); "GLOB" is matched with the function's name, and for C++
 * also with its name up to the parameters; "@GLOB" with the path of its module
 * or the last part of it.
 */
#ifndef PERFREC_COLLECTOR_NAMES_FILTER_H
#define PERFREC_COLLECTOR_NAMES_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct modules;
struct page_shm;

struct filter {
	const char *const *only; /* --filter; none: all functions */
	size_t only_count;
	const char *const *except; /* --exclude */
	size_t except_count;
};

/* Whether @filter leaves out anything at all. */
bool filter_is_active(const struct filter *filter);
/* Whether the annotation called @name is left out. Pure. --filter is about
 * functions and leaves out none; --exclude does, by name or "@annotation". */
bool filter_excludes_site(const struct filter *filter, const char *name);
/* Whether the function called @name in @module is left out. Pure. */
bool filter_excludes(const struct filter *filter, const char *name,
		     const char *module);
/*
 * Writes the functions of @modules that are left out into the table of the
 * arena that starts with @page, where @room entries fit, and sets its
 * filter_shift. Returns how many there are; those that did not fit must be
 * withheld by replay. May read symbol tables: not for drain threads.
 */
uint64_t filter_publish(const struct filter *filter, struct modules *modules,
			struct page_shm *page, uint32_t room);

#endif
