/* SPDX-License-Identifier: Apache-2.0
 *
 * sites: annotations of a program are read completely and once. Entries of a
 * broken program do no harm.
 */
#include "collector/names/sites.h"

#include "collector/names/symbols.h"
#include "tests/suite.h"
#include "tests/unit/told.h"

static struct page_shm *g_page;
static struct symbol_cache *g_cache;
static struct sites *g_sites;

static void setup(void)
{
	g_page = told_new();
	ck_assert_int_eq(symbol_cache_new(&g_cache), 0);
	ck_assert_int_eq(sites_new(g_page, g_cache, &g_sites), 0);
}

static void teardown(void)
{
	sites_put(&g_sites);
	symbol_cache_put(&g_cache);
	told_free(g_page);
}

struct entry {
	struct site_shm head;
	const char *text[6];
	const char *key[4];
};

static uint32_t *offset_of(uint32_t id)
{
	return (uint32_t *)((char *)g_page + ARENA_SITES) + id;
}

static struct site_shm *room(void)
{
	return (struct site_shm *)((char *)g_page + ARENA_SITE_BYTES +
				   g_page->site_bytes);
}

static uint32_t tell(const struct entry *entry)
{
	uint32_t id = ++g_page->site_count, offset = g_page->site_bytes;
	struct site_shm *shm = room();
	char *out = (char *)(shm + 1);

	*shm = entry->head;
	for (int i = 0; i < 6; i++) {
		const char *text = entry->text[i] ? entry->text[i] : "";

		shm->text_bytes[i] = (uint16_t)strlen(text);
		memcpy(out, text, strlen(text) + 1);
		out += strlen(text) + 1;
	}
	for (int i = 0; i < 4 && entry->key[i]; i++) {
		memcpy(out, entry->key[i], strlen(entry->key[i]) + 1);
		out += strlen(entry->key[i]) + 1;
		shm->keys++;
	}
	shm->bytes = (uint32_t)ALIGN_UP((size_t)(out - (char *)shm), 16);
	g_page->site_bytes += shm->bytes;
	*offset_of(id) = offset + 1;
	return id;
}

static struct entry span(const char *name)
{
	return (struct entry){ .head = { .kind = SITE_SPAN, .line = 12 },
			       .text = { name, "net", "a.c", "serve" },
			       .key = { "first", "second" } };
}

FIXTURE(setup, teardown);

TEST(sites_entry_is_read_whole)
{
	struct entry entry = span("work");
	const struct site *site;

	entry.head.multiplier = -3;
	site = sites_find(g_sites, tell(&entry));
	ck_assert(site->known);
	ck_assert_str_eq(site->name, "work");
	ck_assert_str_eq(site->category, "net");
	ck_assert_str_eq(site->file, "a.c");
	ck_assert_str_eq(site->function, "serve");
	ck_assert_str_eq(site->unit_name, "");
	ck_assert_uint_eq(site->line, 12);
	ck_assert_int_eq(site->multiplier, -3);
	ck_assert_uint_eq(site->keys, 2);
	ck_assert_str_eq(site->key[0], "first");
	ck_assert_str_eq(site->key[1], "second");
}

TEST(sites_copy_counts_whatever_the_program_writes_later)
{
	struct entry entry = span("work");
	uint32_t id = tell(&entry);
	const struct site *site = sites_find(g_sites, id);

	memset((char *)g_page + ARENA_SITE_BYTES, 0xff, 4096);
	*offset_of(id) = 77;
	ck_assert_ptr_eq(sites_find(g_sites, id), site);
	ck_assert_str_eq(site->name, "work");
}

TEST(sites_without_an_entry_have_a_number)
{
	ck_assert_str_eq(sites_find(g_sites, 5)->name, "site 5");
	ck_assert(!sites_find(g_sites, 5)->known);
	ck_assert(!sites_find(g_sites, 0)->known);
	ck_assert(!sites_find(g_sites, SITES_MAX)->known);
	ck_assert_str_eq(sites_find(g_sites, SITES_MAX - 1)->name,
			 "site 65535");
}

TEST(sites_without_a_name_have_a_number)
{
	struct entry entry = span("");
	const struct site *site = sites_find(g_sites, tell(&entry));

	ck_assert_str_eq(site->name, "site 1");
	ck_assert(site->known);
}

TEST(sites_texts_are_cleaned)
{
	struct entry entry = span("a\nb\xff\xc3\xa4");

	ck_assert_str_eq(sites_find(g_sites, tell(&entry))->name,
			 "a?b?\xc3\xa4");
}

TEST(sites_long_texts_are_cut)
{
	static char name[9001];
	struct entry entry = span(name);

	memset(name, 'x', sizeof(name) - 1);
	ck_assert_uint_eq(strlen(sites_find(g_sites, tell(&entry))->name),
			  SITE_TEXT_BYTES);
	ck_assert_str_eq(sites_find(g_sites, 1)->category, "net");
}

static void break_bytes_zero(struct site_shm *shm)
{
	shm->bytes = 0;
}

static void break_bytes_odd(struct site_shm *shm)
{
	shm->bytes += 8;
}

static void break_bytes_huge(struct site_shm *shm)
{
	shm->bytes = 0xfffffff0;
}

static void break_kind(struct site_shm *shm)
{
	shm->kind = 99;
}

static void break_keys(struct site_shm *shm)
{
	shm->keys = SITE_KEYS_MAX + 1;
}

static void break_offset_outside(struct site_shm *shm)
{
	(void)shm;
	*offset_of(1) = SITE_BYTES;
}

static void break_offset_odd(struct site_shm *shm)
{
	(void)shm;
	*offset_of(1) = 2;
}

static void break_offset_at_the_end(struct site_shm *shm)
{
	struct site_shm *last =
		(struct site_shm *)((char *)g_page + ARENA_SITE_BYTES +
				    SITE_BYTES - sizeof(*last));

	*last = *shm;
	*offset_of(1) = SITE_BYTES - sizeof(*last) + 1;
}

static void (*const g_breaks[])(struct site_shm *shm) = {
	break_bytes_zero, break_bytes_odd,
	break_bytes_huge, break_kind,
	break_keys,	  break_offset_outside,
	break_offset_odd, break_offset_at_the_end,
};

TEST(sites_broken_entry_is_none, EACH(0, ARRAY_SIZE(g_breaks)))
{
	struct entry entry = span("work");
	struct site_shm *shm = room();

	tell(&entry);
	g_breaks[_i](shm);
	ck_assert(!sites_find(g_sites, 1)->known);
	ck_assert_str_eq(sites_find(g_sites, 1)->name, "site 1");
}

TEST(sites_texts_beyond_the_entry_are_empty)
{
	struct entry entry = span("work");
	struct site_shm *shm = room();
	const struct site *site;

	tell(&entry);
	shm->text_bytes[1] = 60000;
	site = sites_find(g_sites, 1);
	ck_assert_str_eq(site->name, "work");
	ck_assert_str_eq(site->category, "");
	ck_assert_str_eq(site->file, "");
	ck_assert_uint_eq(site->keys, 2);
	ck_assert_str_eq(site->key[0], "");
}

TEST(sites_tracks_are_found_by_number)
{
	struct entry entry = span("one");

	ck_assert_ptr_null(sites_track(g_sites, 7));
	entry.head.kind = SITE_TRACK;
	entry.head.track = 7;
	tell(&entry);
	entry.head.track = 8;
	entry.text[0] = "two";
	tell(&entry);
	ck_assert_str_eq(sites_track(g_sites, 7)->name, "one");
	ck_assert_str_eq(sites_track(g_sites, 8)->name, "two");
	ck_assert_ptr_null(sites_track(g_sites, 9));
}

/* An unfinished entry does not hide later ones. */
TEST(sites_track_behind_a_hole_is_found)
{
	struct entry entry = span("one");

	g_page->site_count++;
	entry.head.kind = SITE_TRACK;
	entry.head.track = 7;
	tell(&entry);
	ck_assert_str_eq(sites_track(g_sites, 7)->name, "one");
	entry.head.track = 9;
	*offset_of(1) = *offset_of(2);
	tell(&entry);
	ck_assert_str_eq(sites_track(g_sites, 9)->name, "one");
}

TEST(sites_closed_keep_what_was_asked_for)
{
	struct entry entry = span("work");
	uint32_t id = tell(&entry), later = tell(&entry);

	sites_find(g_sites, id);
	sites_close(g_sites);
	ck_assert_str_eq(sites_find(g_sites, id)->name, "work");
	ck_assert(!sites_find(g_sites, later)->known);
	ck_assert_ptr_null(sites_track(g_sites, 1));
}

TEST(sites_noise_hurts_nobody)
{
	uint32_t seed = 12345, id;
	char *bytes = (char *)g_page + ARENA_SITE_BYTES;

	for (int i = 0; i < 65536; i++) {
		seed = seed * 1103515245 + 12345;
		bytes[i] = (char)(seed >> 16);
	}
	for (int i = 0; i < 65536; i += 64) {
		struct site_shm *shm = (struct site_shm *)(bytes + i);

		seed = seed * 1103515245 + 12345;
		shm->bytes = (seed >> 8) % 8192 & ~15u;
		shm->kind = seed >> 4 & 7;
		shm->keys %= 80;
		*offset_of((uint32_t)i / 64 + 1) = (uint32_t)i + 1;
	}
	g_page->site_count = UINT32_MAX;
	for (id = 0; id < 2000; id++) {
		const struct site *site = sites_find(g_sites, id);

		ck_assert_ptr_nonnull(site->name);
		ck_assert_int_ne(site->name[0], '\0');
		for (uint32_t i = 0; i < site->keys; i++)
			ck_assert_ptr_nonnull(site->key[i]);
	}
	sites_track(g_sites, 1);
}
