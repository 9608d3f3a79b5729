/* SPDX-License-Identifier: Apache-2.0
 *
 * sites - ids for sites. Sites with equal contents have one entry in the arena
 * and one id: those of a plugin that is loaded again and again, or of a header
 * that is in many files. A hash table in private memory finds the entries. A
 * forked child inherits the table; before each search, entries are added that
 * other processes of the arena have made meanwhile.
 *
 * There are no locks, as signal handlers interrupt this and do the same. Two
 * threads that register equal contents at the same instant may take two ids.
 * One site never has two.
 */
#include "preload/annotate/sites.h"

#include <string.h>

#include "preload/core/gate.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/hash.h"
#include "shared/record_ext.h"
#include "shared/site_shm.h"

#define TEXTS 6
#define TEXT_MAX 1023 /* of each but keys */
#define PARENTS_MAX 16 /* of a track; so a cycle of parents ends */
#define BUCKETS 4096
/* At the end of the room, for the site "more sites". */
#define MORE_BYTES 256

_Static_assert((int)PERFREC_SPAN_KIND_ == SITE_SPAN &&
		       (int)PERFREC_COUNTER_KIND_ == SITE_COUNTER &&
		       (int)PERFREC_TRACK_KIND_ == SITE_TRACK &&
		       (int)PERFREC_HEAP_KIND_ == SITE_HEAP &&
		       (int)PERFREC_STATE_KIND_ == SITE_STATE,
	       "perfrec.h");

/* An entry that is yet to be written: its head, and where its texts are. */
struct entry {
	struct site_shm head;
	const char *text[TEXTS];
	const struct perfrec_site *site;
	uint64_t hash;
};

/* The entries that this process has seen. */
static struct {
	/* Chains of ids by hash; 0 ends one. Never changed but at its start. */
	uint16_t first[BUCKETS];
	uint16_t next[SITES_MAX];
	uint32_t hash[SITES_MAX];
	uint32_t chained[SITES_MAX / 32]; /* bits: it is, or about to be */
	uint32_t seen; /* ids up to here have been looked at */
} g_sites;

/* --- contents ------------------------------------------------------------ */

static bool is_special(const char *key)
{
	return key[0] == PERFREC_NAME[0];
}

static void describe_counter(const struct perfrec_counter *counter,
			     struct entry *entry)
{
	static const char units[][8] = { "", "ns", "count", "bytes" };
	const char *unit = counter->unit ? counter->unit : "";

	entry->head.multiplier = counter->multiplier;
	entry->head.unit = UNIT_CUSTOM;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(unit, units[i]))
			entry->head.unit = (uint8_t)i;
	if (entry->head.unit == UNIT_CUSTOM)
		entry->text[4] = unit;
}

/* The parents of @track have their numbers. */
static void describe_track(const struct perfrec_track *track,
			   struct entry *entry)
{
	uint32_t flags = track->site.flags;
	struct site_shm *head = &entry->head;

	if (track->parent)
		/* relaxed: a number, 0 if it is in a cycle */
		head->parent = atom_load_rlx(&track->parent->number);
	else if (flags & PERFREC_GLOBAL)
		head->parent = TRACK_GLOBAL;
	else if (flags & PERFREC_OF_THREAD)
		head->parent = TRACK_THREAD;
	head->flags = 0;
	head->order = (uint8_t)sites_order(flags);
	head->merge = flags & PERFREC_NO_MERGE ? MERGE_NONE : MERGE_BY_NAME;
	head->track_kind = track->states ? TRACK_STATES : TRACK_SLICES;
	head->rank = track->rank;
	entry->text[5] = track->description;
}

enum track_order sites_order(uint32_t flags)
{
	if (flags & PERFREC_BY_RANK)
		return ORDER_EXPLICIT;
	if (flags & PERFREC_CHRONOLOGICAL)
		return ORDER_CHRONOLOGICAL;
	return flags & PERFREC_LEXICOGRAPHIC ? ORDER_LEXICOGRAPHIC
					     : ORDER_UNSPECIFIED;
}

static size_t key_bytes(const char *key)
{
	return strnlen(key, NOTE_KEY_MAX);
}

/* Set the lengths in @entry, and its hash. */
static void measure_entry(struct entry *entry)
{
	const struct perfrec_site *site = entry->site;
	uint64_t bytes = sizeof(entry->head) + TEXTS, hash;

	for (size_t i = 0; i < TEXTS; i++) {
		if (!entry->text[i])
			entry->text[i] = "";
		entry->head.text_bytes[i] =
			(uint16_t)strnlen(entry->text[i], TEXT_MAX);
		bytes += entry->head.text_bytes[i];
	}
	for (size_t i = 0; i < site->key_count; i++) {
		if (is_special(site->keys[i]))
			continue;
		entry->head.keys++;
		bytes += key_bytes(site->keys[i]) + 1;
	}
	entry->head.bytes = (uint32_t)ALIGN_UP(bytes, 16);
	hash = hash_bytes(HASH_START, &entry->head, sizeof(entry->head));
	for (size_t i = 0; i < TEXTS; i++)
		hash = hash_bytes(hash, entry->text[i],
				  entry->head.text_bytes[i]);
	for (size_t i = 0; i < site->key_count; i++)
		hash = hash_bytes(hash, site->keys[i],
				  key_bytes(site->keys[i]) + 1);
	entry->hash = hash;
}

static void describe_site(const struct perfrec_site *site, struct entry *entry)
{
	*entry = (struct entry){
		.head = { .kind = site->kind,
			  .flags = (uint16_t)site->flags,
			  .line = site->line },
		.text = { site->name, site->category, site->file,
			  site->function },
		.site = site,
	};
	if (!site->name || !site->name[0])
		entry->text[0] = site->function;
	if (site->kind == SITE_COUNTER)
		describe_counter((const struct perfrec_counter *)site, entry);
	if (site->kind == SITE_TRACK)
		describe_track((const struct perfrec_track *)site, entry);
	measure_entry(entry);
	/* The number of a track is made of its contents, so that all processes
	 * give one track one number. It lies above the numbers of tracks that
	 * are made at run time, and below TRACK_THREAD and TRACK_GLOBAL. */
	if (site->kind == SITE_TRACK)
		entry->head.track = (entry->hash | 1ULL << 63) & ~(1ULL << 62);
}

/* --- entries ------------------------------------------------------------- */

static uint32_t *site_offsets(void)
{
	return (uint32_t *)((char *)g_shim.page + ARENA_SITES);
}

static char *site_room(void)
{
	return (char *)g_shim.page + ARENA_SITE_BYTES;
}

/* Call @each for every piece of @entry, with its place in the memory from @to
 * on. Stops, and returns false, when @each does. */
static bool for_each_piece(const struct entry *entry, char *to,
			   bool (*each)(char *to, const void *piece,
					size_t bytes))
{
	const struct perfrec_site *site = entry->site;

	if (!each(to, &entry->head, sizeof(entry->head)))
		return false;
	to += sizeof(entry->head);
	for (size_t i = 0; i < TEXTS; i++) {
		size_t bytes = entry->head.text_bytes[i];

		if (!each(to, entry->text[i], bytes) ||
		    !each(to + bytes, "", 1))
			return false;
		to += bytes + 1;
	}
	for (size_t i = 0; i < site->key_count; i++) {
		size_t bytes = key_bytes(site->keys[i]);

		if (is_special(site->keys[i]))
			continue;
		if (!each(to, site->keys[i], bytes) || !each(to + bytes, "", 1))
			return false;
		to += bytes + 1;
	}
	return true;
}

static bool copy_piece(char *to, const void *piece, size_t bytes)
{
	memcpy(to, piece, bytes);
	return true;
}

static bool is_piece(char *there, const void *piece, size_t bytes)
{
	const char *byte = piece;

	for (; bytes; bytes--)
		if (*there++ != *byte++)
			return false;
	return true;
}

/* The entry of @id in the arena, and its *@bytes; NULL if it is not whole, or
 * not inside. */
static struct site_shm *find_entry(uint32_t id, uint32_t *bytes)
{
	/* order: acq, SITE: an entry that is seen is seen whole */
	uint32_t offset = atom_load_acq(&site_offsets()[id]) - 1;
	struct site_shm *entry;

	if (offset > SITE_BYTES - sizeof(*entry) || offset % 16)
		return NULL;
	entry = (struct site_shm *)(site_room() + offset);
	/* relaxed: SITE orders it. Once: the other side may write, too */
	*bytes = atom_load_rlx(&entry->bytes);
	return *bytes <= SITE_BYTES - offset ? entry : NULL;
}

static void write_entry(const struct entry *entry, uint32_t id, uint32_t offset)
{
	for_each_piece(entry, site_room() + offset, copy_piece);
	/* order: rel, SITE: the entry is whole */
	atom_store_rel(&site_offsets()[id], offset + 1);
}

/* Adds @amount to @counter unless the sum is above @limit. Returns the old
 * value, or UINT32_MAX if it is. */
static uint32_t take_amount(uint32_t *counter, uint32_t amount, uint32_t limit)
{
	for (;;) {
		/* relaxed: the swap decides */
		uint32_t old = atom_load_rlx(counter);

		if (old > limit || amount > limit - old)
			return UINT32_MAX;
		/* order: sc, SITE: no other thread takes the same room */
		if (atom_cas_sc(counter, old, old + amount))
			return old;
	}
}

/* --- the hash table ------------------------------------------------------ */

/* The hash of an entry in the arena. Its writer has put it there. */
static uint32_t kept_hash(const struct site_shm *entry)
{
	return (uint32_t)entry->pad2[0] | (uint32_t)entry->pad2[1] << 16;
}

static void chain_id(uint32_t id, uint32_t hash)
{
	uint16_t *first = &g_sites.first[hash % BUCKETS];
	uint32_t bit = 1u << id % 32;
	uint16_t old;

	/* order: sc, SITE: who sets the bit chains it */
	if (atom_or_sc(&g_sites.chained[id / 32], bit) & bit)
		return;
	g_sites.hash[id] = hash;
	do {
		/* relaxed: the swap decides */
		old = atom_load_rlx(first);
		g_sites.next[id] = old;
		/* order: sc, SITE: the link is whole before it is seen */
	} while (!atom_cas_sc(first, old, (uint16_t)id));
}

/* Chain the entries in the arena that were not seen yet. One that is not whole
 * is passed over for good: at worst its contents get another id. */
static void chain_new(void)
{
	/* relaxed, both: the next call sees a missed site */
	uint32_t count =
		MIN(atom_load_rlx(&g_shim.page->site_count), SITE_MORE - 1u);
	uint32_t id = atom_load_rlx(&g_sites.seen);

	while (id < count) {
		uint32_t bytes;
		const struct site_shm *entry = find_entry(++id, &bytes);

		if (entry)
			chain_id(id, kept_hash(entry));
	}
	/* relaxed: as above */
	atom_store_rlx(&g_sites.seen, count);
}

static uint32_t find_equal(const struct entry *entry)
{
	uint32_t hash = kept_hash(&entry->head);
	/* order: acq, SITE: links behind a first that is seen are whole */
	uint32_t id = atom_load_acq(&g_sites.first[hash % BUCKETS]);

	for (unsigned int steps = 0; id && steps < SITES_MAX;
	     steps++, id = g_sites.next[id]) {
		uint32_t bytes = 0;
		struct site_shm *there = g_sites.hash[id] == hash
						 ? find_entry(id, &bytes)
						 : NULL;

		if (there && bytes == entry->head.bytes &&
		    for_each_piece(entry, (char *)there, is_piece))
			return id;
	}
	return 0;
}

/* --- ids ----------------------------------------------------------------- */

/* There is no id, or no room, for another site: count it. Returns SITE_MORE. */
static uint32_t count_lost(void)
{
	static const struct perfrec_site more = {
		.kind = SITE_SPAN,
		.name = "more sites",
		.category = "",
		.file = "",
		.function = "",
	};
	struct entry entry;

	/* relaxed: a count */
	if (!atom_add_rlx(&g_shim.page->sites_lost, 1)) {
		describe_site(&more, &entry);
		write_entry(&entry, SITE_MORE, SITE_BYTES - MORE_BYTES);
	}
	return SITE_MORE;
}

static uint32_t add_entry(const struct entry *entry)
{
	uint32_t offset =
		take_amount(&g_shim.page->site_bytes, entry->head.bytes,
			    SITE_BYTES - MORE_BYTES);
	uint32_t before;

	if (offset == UINT32_MAX)
		return count_lost();
	before = take_amount(&g_shim.page->site_count, 1, SITE_MORE - 1);
	if (before == UINT32_MAX)
		return count_lost();
	write_entry(entry, before + 1, offset);
	chain_id(before + 1, kept_hash(&entry->head));
	return before + 1;
}

static bool has_special(const struct perfrec_site *site)
{
	for (size_t i = 0; i < site->key_count; i++)
		if (is_special(site->keys[i]))
			return true;
	return false;
}

static void register_site(struct perfrec_site *site)
{
	struct entry entry;
	uint32_t id;

	/* relaxed: it never changes again */
	if (atom_load_rlx(&site->id))
		return;
	site->special = has_special(site);
	describe_site(site, &entry);
	if (site->kind == SITE_TRACK)
		/* order: sc, SITE: the first to say it */
		(void)atom_cas_sc(&((struct perfrec_track *)site)->number, 0,
				  entry.head.track);
	entry.head.pad2[0] = (uint16_t)entry.hash;
	entry.head.pad2[1] = (uint16_t)(entry.hash >> 16);
	chain_new();
	id = find_equal(&entry);
	if (!id)
		id = add_entry(&entry);
	/* order: sc, SITE: one site, one id */
	(void)atom_cas_sc(&site->id, 0, (uint16_t)id);
}

void sites_register(struct perfrec_site *site)
{
	struct perfrec_track *chain[PARENTS_MAX], *track;
	size_t count = 0;

	if (site->kind == SITE_TRACK)
		for (track = ((struct perfrec_track *)site)->parent;
		     track && count < PARENTS_MAX; track = track->parent)
			chain[count++] = track;
	while (count)
		register_site(&chain[--count]->site);
	register_site(site);
}
