/* SPDX-License-Identifier: Apache-2.0
 *
 * sites - the collector's copy of the annotation sites of an arena
 * (shared/site_shm.h). Shared memory is hostile: each entry is copied, checked
 * and cleaned once, on first use. Any thread; opens no files and never waits.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SITES_H
#define PERFREC_COLLECTOR_NAMES_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/site_shm.h"

struct page_shm;
struct sites; /* reference counted */
struct symbol_cache;

/* The "module" of a site in summaries, profiles and filters. */
#define SITE_MODULE "annotation"

#define SITE_TEXT_BYTES 4000 /* longer texts are cut */

/* Texts are valid UTF-8 until the symbol cache is freed; "": none. */
struct site {
	uint32_t id;
	enum site_kind kind;
	enum site_unit unit;
	uint32_t flags; /* enum site_flags */
	uint32_t line;
	int64_t multiplier; /* never 0 */
	uint64_t track, parent;
	enum track_order order;
	enum track_merge merge;
	enum track_kind track_kind;
	int32_t rank;
	const char *name; /* never empty; "site N" by default */
	const char *category, *file, *function, *unit_name, *description;
	uint32_t keys;
	const char *const *key;
	bool known; /* false: no such entry, or malformed */
};

/* Creates the sites of the arena at @page, which must stay mapped until
 * sites_close(). Returns 0 or -ENOMEM. The caller holds one reference. */
int sites_new(struct page_shm *page, struct symbol_cache *cache,
	      struct sites **out);
struct sites *sites_get(struct sites *sites);
void sites_put(struct sites **sites);
/* Call it before the arena is unmapped. Later sites have no names. */
void sites_close(struct sites *sites);

/* Never NULL. @id is 1 to SITES_MAX - 1; @sites owns the site. */
const struct site *sites_find(struct sites *sites, uint32_t id);
/* Finds the SITE_TRACK site of number @track, or NULL. */
const struct site *sites_track(struct sites *sites, uint64_t track);

/* Returns the shown value: a double or int64_t, times the multiplier. */
static inline double site_counter_value(const struct site *site, uint64_t bits)
{
	double value = (double)(int64_t)bits;

	if (site->flags & SITE_DOUBLE)
		memcpy(&value, &bits, sizeof(value));
	return value * (double)site->multiplier;
}

/* Returns @sum plus @step; all are the bits of a double or int64_t. */
static inline uint64_t site_counter_add(const struct site *site, uint64_t sum,
					uint64_t step)
{
	double a, b;

	if (!(site->flags & SITE_DOUBLE))
		return sum + step;
	memcpy(&a, &sum, sizeof(a));
	memcpy(&b, &step, sizeof(b));
	a += b;
	memcpy(&sum, &a, sizeof(sum));
	return sum;
}

#endif
