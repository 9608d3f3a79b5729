/* SPDX-License-Identifier: Apache-2.0
 *
 * sites - a table of pointers by id. The first lookup of an id copies its whole
 * entry from the arena and then reads only the copy, since the program may
 * write to the arena at any time. The lock is held meanwhile: at most
 * SITE_TEXT_MAX bytes, once per id.
 */
#include "collector/names/sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/lock.h"
#include "collector/base/pool.h"
#include "collector/names/symbol_name.h"
#include "collector/names/symbols.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

/* Limit of an entry: its head, six texts of 64 KiB at most, and keys. */
#define SITE_TEXT_MAX (512u << 10)
#define TEXTS 6
#define SITES_BYTES_MAX SITE_BYTES

struct sites {
	uint32_t refs;
	struct symbol_cache *cache;
	struct lock lock; /* guards everything below */
	struct page_shm *page; /* NULL: unmapped */
	struct site **site;
	struct pool tracks; /* struct track_site */
	uint32_t looked; /* ids below have been searched for tracks */
	uint64_t kept;
};

struct track_site {
	uint64_t track;

	const struct site *site;
};

/* The site of missing entries, and without memory. */
static const struct site g_nobody = {
	.name = "site",
	.category = "",
	.file = "",
	.function = "",
	.unit_name = "",
	.description = "",
	.multiplier = 1,
};

/* --- the arena ----------------------------------------------------------- */

static void copy_from_shared(void *to, const void *from, size_t bytes)
{
	const uint64_t *words = from;
	uint64_t word;

	for (size_t i = 0; i < bytes / sizeof(word); i++) {
		/* relaxed: SITE orders it; one load each */
		word = atom_load_rlx(&words[i]);
		memcpy((uint8_t *)to + i * sizeof(word), &word, sizeof(word));
	}
}

/* Returns a copy that its lengths fit into, or NULL. */
static struct site_shm *copy_site_entry(const struct sites *sites, uint32_t id)
{
	const uint8_t *base = (const uint8_t *)sites->page;
	const uint32_t *offsets = (const uint32_t *)(base + ARENA_SITES);
	/* order: acq, SITE: an entry that is seen is seen whole */
	uint32_t offset = atom_load_acq(&offsets[id]) - 1;
	struct site_shm *entry;
	uint32_t bytes;

	if (offset >= SITE_BYTES - sizeof(*entry) || offset % 16)
		return NULL;
	base += ARENA_SITE_BYTES + offset;
	/* relaxed: SITE orders it; one load, as the program may change it */
	bytes = atom_load_rlx(&((const struct site_shm *)base)->bytes);
	if (bytes % 16 || bytes < sizeof(*entry) || bytes > SITE_TEXT_MAX ||
	    bytes > SITE_BYTES - offset)
		return NULL;
	entry = malloc(bytes);
	if (!entry)
		return NULL;
	copy_from_shared(entry, base, bytes);
	entry->bytes = bytes;
	return entry;
}

/* --- texts --------------------------------------------------------------- */

struct texts {
	const char *at, *end;
};

/* Returns an interned copy; "" for an incomplete text. */
static const char *take_site_text(struct sites *sites, struct texts *texts,
				  size_t bytes)
{
	char text[SITE_TEXT_BYTES + 1];
	size_t left = (size_t)(texts->end - texts->at);
	size_t kept = MIN(bytes, (size_t)SITE_TEXT_BYTES);
	const char *unique;

	if (bytes >= left || texts->at[bytes]) {
		texts->at = texts->end;
		return "";
	}
	memcpy(text, texts->at, kept);
	text[kept] = '\0';
	texts->at += bytes + 1;
	if (!text[0] || sites->kept + kept > SITES_BYTES_MAX)
		return "";
	sites->kept += kept;
	symbol_name_clean(text);
	unique = symbol_cache_told_string(sites->cache, text);
	return unique ? unique : "";
}

/* --- one site ------------------------------------------------------------ */

static void take_site_entry(struct sites *sites, const struct site_shm *entry,
			    struct site *out)
{
	const char **key = calloc(entry->keys + 1, sizeof(*key));
	struct texts texts = { (const char *)(entry + 1),
			       (const char *)entry + entry->bytes };
	const char **text[TEXTS] = { &out->name,      &out->category,
				     &out->file,      &out->function,
				     &out->unit_name, &out->description };

	out->known = true;
	out->kind = (enum site_kind)entry->kind;
	out->unit = entry->unit <= UNIT_CUSTOM ? (enum site_unit)entry->unit
					       : UNIT_UNSPECIFIED;
	out->flags = entry->flags;
	out->line = entry->line;
	out->multiplier = entry->multiplier ? entry->multiplier : 1;
	out->track = entry->track;
	out->parent = entry->parent;
	out->order = entry->order <= ORDER_EXPLICIT
			     ? (enum track_order)entry->order
			     : ORDER_UNSPECIFIED;
	out->merge = entry->merge == MERGE_NONE ? MERGE_NONE : MERGE_BY_NAME;
	out->track_kind =
		entry->track_kind == TRACK_STATES ? TRACK_STATES : TRACK_SLICES;
	out->rank = entry->rank;
	for (int i = 0; i < TEXTS; i++)
		*text[i] = take_site_text(sites, &texts, entry->text_bytes[i]);
	for (uint32_t i = 0; key && i < entry->keys; i++) {
		size_t left = (size_t)(texts.end - texts.at);

		key[i] = take_site_text(sites, &texts, strnlen(texts.at, left));
	}
	out->keys = key ? entry->keys : 0;
	out->key = key;
}

static struct site *read_site(struct sites *sites, uint32_t id)
{
	struct site *site = malloc(sizeof(*site));
	struct site_shm *entry;
	char number[32];

	if (!site)
		return NULL;
	*site = g_nobody;
	site->id = id;
	entry = sites->page ? copy_site_entry(sites, id) : NULL;
	if (entry && entry->kind >= SITE_SPAN && entry->kind <= SITE_STATE &&
	    entry->keys <= SITE_KEYS_MAX)
		take_site_entry(sites, entry, site);
	free(entry);
	if (!site->known || !site->name[0]) {
		snprintf(number, sizeof(number), "site %u", site->id);
		site->name = symbol_cache_told_string(sites->cache, number);
	}
	if (!site->name)
		site->name = g_nobody.name;
	return site;
}

/* Lock held. A program uses an id only after completing its entry, so an
 * incomplete entry is malformed for good. */
static const struct site *find_site_locked(struct sites *sites, uint32_t id)
{
	struct site **slot = &sites->site[id];

	if (!*slot) {
		*slot = read_site(sites, id);
		if (*slot && (*slot)->kind == SITE_TRACK) {
			const struct track_site entry = { (*slot)->track,
							  *slot };
			uint32_t number;

			/* The first site of a number wins. Out of memory, the
			 * track stays unknown. */
			(void)pool_intern(&sites->tracks, &entry, &number);
		}
	}
	return *slot ? *slot : &g_nobody;
}

const struct site *sites_find(struct sites *sites, uint32_t id)
{
	const struct site *site = &g_nobody;

	if (!id || id >= SITES_MAX)
		return site;
	lock_acquire(&sites->lock);
	site = find_site_locked(sites, id);
	lock_release(&sites->lock);
	return site;
}

/* --- tracks -------------------------------------------------------------- */

/* Lock held. Searches new sites. Ids are allocated before their entries are
 * complete. */
static void look_for_tracks(struct sites *sites)
{
	bool whole = true;
	const uint32_t *offsets;
	uint32_t count;

	if (!sites->page)
		return;
	offsets =
		(const uint32_t *)((const uint8_t *)sites->page + ARENA_SITES);
	/* relaxed: missed sites are found the next time */
	count = MIN(atom_load_rlx(&sites->page->site_count), SITES_MAX - 1);
	for (uint32_t id = sites->looked; id <= count; id++) {
		/* relaxed: copy_site_entry() takes a proper look */
		bool there = atom_load_rlx(&offsets[id]);

		if (there)
			find_site_locked(sites, id);
		whole &= there;
		sites->looked = whole ? id + 1 : sites->looked;
	}
}

const struct site *sites_track(struct sites *sites, uint64_t track)
{
	const struct track_site entry = { .track = track };
	const struct site *found = NULL;
	uint32_t number;

	lock_acquire(&sites->lock);
	look_for_tracks(sites);
	if (pool_find(&sites->tracks, &entry, &number))
		found = ((struct track_site *)sites->tracks.items)[number].site;
	lock_release(&sites->lock);
	return found;
}

/* --- life ---------------------------------------------------------------- */

int sites_new(struct page_shm *page, struct symbol_cache *cache,
	      struct sites **out)
{
	struct sites *sites = calloc(1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	sites->site = calloc(SITES_MAX, sizeof(*sites->site));
	if (!sites->site) {
		free(sites);
		return -ENOMEM;
	}
	sites->refs = 1;
	sites->page = page;
	sites->cache = symbol_cache_get(cache);
	sites->looked = 1;
	pool_init(&sites->tracks, NULL, sizeof(struct track_site),
		  offsetof(struct track_site, site));
	lock_init(&sites->lock, LOCK_SITES);
	*out = sites;
	return 0;
}

struct sites *sites_get(struct sites *sites)
{
	/* relaxed: the caller has a reference */
	atom_add_rlx(&sites->refs, 1);
	return sites;
}

void sites_put(struct sites **sites)
{
	struct sites *old = *sites;

	*sites = NULL;
	/* order: sc, REFS: all uses of it come before its end */
	if (!old || atom_add_sc(&old->refs, -1u) != 1)
		return;
	for (uint32_t id = 1; id < SITES_MAX; id++) {
		if (!old->site[id])
			continue;
		free((void *)old->site[id]->key);
		free(old->site[id]);
	}
	symbol_cache_put(&old->cache);
	lock_destroy(&old->lock);
	free(old->site);
	pool_release(&old->tracks);
	free(old);
}

void sites_close(struct sites *sites)
{
	lock_acquire(&sites->lock);
	sites->page = NULL;
	lock_release(&sites->lock);
}
