/* SPDX-License-Identifier: Apache-2.0
 *
 * sites - the collector's copy of what the programs of one arena tell about the
 * places in them that record annotations (shared/site_shm.h). Read from shared
 * memory, which is hostile: an entry is looked at once, when its id is first
 * asked for, every length in it checked, every text cleaned; and the copy is
 * what counts from then on. Any thread; nothing here opens a file or waits.
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

/* What a site is in a summary, a profile or a filter: its "module". */
#define SITE_MODULE "annotation"

#define SITE_TEXT_BYTES 4000 /* more of a text is cut off */

/* Texts are valid UTF-8 and live as long as the symbol cache; "": none. */
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
	const char *name; /* never empty: "site N" if it has none */
	const char *category, *file, *function, *unit_name, *description;
	uint32_t keys;
	const char *const *key; /* lives as long as the sites */
	bool known; /* false: there was no such entry, or nonsense */
};

/* The sites of the arena that @page starts, which must stay mapped until
 * sites_close(). 0 or -ENOMEM. The caller holds one reference. */
int sites_new(struct page_shm *page, struct symbol_cache *cache,
	      struct sites **out);
/* A second reference to @sites. */
struct sites *sites_get(struct sites *sites);
/* Gives one reference back and clears *@sites, which may be NULL. */
void sites_put(struct sites **sites);
/* Call it before the arena is unmapped. A site that nobody has asked for until
 * then has no name. */
void sites_close(struct sites *sites);

/* The site with the number @id, from 1 to SITES_MAX - 1; lives as long as
 * @sites. Never NULL: if the site cannot be read, or there is no memory for it,
 * its known is false. */
const struct site *sites_find(struct sites *sites, uint32_t id);
/* The site of the kind SITE_TRACK that has the number @track; NULL: there is
 * none. Lives as long as @sites. */
const struct site *sites_track(struct sites *sites, uint64_t track);

/* What @bits stands for, a value of the counter @site: a double or an int64_t,
 * times its multiplier, as people see it. Pure. */
static inline double site_counter_value(const struct site *site, uint64_t bits)
{
	double value = (double)(int64_t)bits;

	if (site->flags & SITE_DOUBLE)
		memcpy(&value, &bits, sizeof(value));
	return value * (double)site->multiplier;
}

#endif
