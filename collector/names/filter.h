/* SPDX-License-Identifier: Apache-2.0
 *
 * filter - decides which functions --filter and --exclude leave out, by
 * name_pattern.h. Any thread, except filter_publish().
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
	const char *const *only; /* empty: all pass */
	size_t only_count;
	const char *const *except;
	size_t except_count;
};

bool filter_is_active(const struct filter *filter);
/* Uses only --exclude. @GLOB matches "annotation" (SITE_MODULE). */
bool filter_excludes_site(const struct filter *filter, const char *name);
bool filter_excludes(const struct filter *filter, const char *name,
		     const char *module);
/*
 * Writes the addresses of excluded functions into the table of @page, and sets
 * page->filter_shift. @room is the size of the table, a power of two. The page
 * stays unchanged if there are none. Returns the count; 0 if out of memory.
 * Replay must withhold functions that did not fit. Reads symbol tables, so
 * drain threads must not call it. @matches may be NULL.
 */
uint64_t filter_publish(const struct filter *filter, struct modules *modules,
			struct page_shm *page, uint32_t room,
			struct filter_matches *matches);

#endif
