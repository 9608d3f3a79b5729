/* SPDX-License-Identifier: Apache-2.0
 *
 * sites_wanted - the list is read in shared memory, where the collector may be
 * writing it (row CATEGORIES of docs/RING.md). Every loop ends, whatever is
 * there.
 */
#include "preload/annotate/sites_wanted.h"

#include <stddef.h>

#include "preload/core/gate.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define READS_MAX 64
#define TEXT_BYTES (CATEGORIES_BYTES - sizeof(uint32_t))

/* An item of the list: bytes @at to @end of its text. */
struct item {
	const char *text;
	size_t at, end;
};

static const struct categories_shm *categories(void)
{
	return (const struct categories_shm *)((const char *)g_shim.page +
					       ARENA_CATEGORIES);
}

const uint32_t *sites_changes(void)
{
	return &categories()->changes;
}

static char byte_at(const char *text, size_t at)
{
	/* order: acq, CATEGORIES: before the second look at changes */
	return at < TEXT_BYTES ? atom_load_acq(&text[at]) : '\0';
}

/* Whether @item matches @name: as fnmatch() without brackets. When it fails,
 * the last star takes one more character. */
static bool item_matches(const struct item *item, const char *name)
{
	size_t at = item->at, star = SIZE_MAX;
	const char *retry = name;

	while (*name) {
		char c = at < item->end ? byte_at(item->text, at) : '\0';

		if (c == '*') {
			star = at++;
			retry = name;
		} else if (c && (c == *name || c == '?')) {
			at++;
			name++;
		} else if (star != SIZE_MAX) {
			at = star + 1;
			name = ++retry;
		} else {
			return false;
		}
	}
	while (at < item->end && byte_at(item->text, at) == '*')
		at++;
	return at >= item->end;
}

static bool item_is_glob(const struct item *item)
{
	for (size_t i = item->at; i < item->end; i++) {
		char c = byte_at(item->text, i);

		if (c == '*' || c == '?')
			return true;
	}
	return false;
}

/* Returns the length of the first word of @category if that word is recorded
 * only on request; else 0. */
static size_t tag_bytes(const char *category)
{
	static const char tag[][6] = { "debug", "slow" };
	size_t j;

	for (size_t i = 0; i < ARRAY_SIZE(tag); i++) {
		for (j = 0; tag[i][j] && category[j] == tag[i][j]; j++)
			;
		if (!tag[i][j] && (!category[j] || category[j] == '.'))
			return j;
	}
	return 0;
}

static bool item_begins_with(const struct item *item, const char *word,
			     size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (item->at + i >= item->end ||
		    byte_at(item->text, item->at + i) != word[i])
			return false;
	return true;
}

/* The next item from @at on; false: there is none. */
static bool next_item(const char *text, size_t *at, struct item *item)
{
	while (byte_at(text, *at) == ',' || byte_at(text, *at) == ' ')
		++*at;
	if (!byte_at(text, *at))
		return false;
	item->text = text;
	item->at = *at;
	while (byte_at(text, *at) && byte_at(text, *at) != ',')
		++*at;
	item->end = *at;
	while (item->end > item->at && byte_at(text, item->end - 1) == ' ')
		item->end--;
	return true;
}

static bool list_wants(const char *text, const char *category)
{
	size_t tag = tag_bytes(category), at = 0;
	bool verdict = !tag, exact = false, matched = false;
	struct item item;

	while (next_item(text, &at, &item)) {
		bool excludes = byte_at(text, item.at) == '-';
		bool glob;

		item.at += excludes;
		if (!excludes && !matched)
			verdict = false; /* until one matches */
		if (!item_matches(&item, category) ||
		    (!excludes && !item_begins_with(&item, category, tag)))
			continue;
		glob = item_is_glob(&item);
		if (exact && glob)
			continue;
		exact = !glob;
		matched = true;
		verdict = !excludes;
	}
	return verdict;
}

bool sites_wanted(const char *category, bool *wanted, uint32_t *changes)
{
	const struct categories_shm *shared = categories();

	for (unsigned int reads = 0; reads < READS_MAX; reads++) {
		/* order: acq, CATEGORIES: the text is not older */
		uint32_t before = atom_load_acq(&shared->changes);

		*changes = before;
		*wanted = list_wants(shared->text, category);
		/* relaxed: the bytes' loads keep it behind them */
		if (!(before & 1) && before == atom_load_rlx(&shared->changes))
			return true;
	}
	return false;
}
