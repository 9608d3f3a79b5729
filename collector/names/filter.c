/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/filter.h"

#include <stdlib.h>
#include <string.h>

#include "collector/names/filter_matches.h"
#include "collector/names/modules.h"
#include "collector/names/name_pattern.h"
#include "collector/names/sites.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

/* The shim probes linearly and needs empty entries. */
#define ENTRIES_PER_FUNCTION 4
/* Functions that share an entry take the slow path of hooks, at three times the
 * cost. So the table is sparse where possible. */
#define ENTRIES_WANTED 32
#define ENTRIES_MIN 64

bool filter_is_active(const struct filter *filter)
{
	return filter->only_count || filter->except_count;
}

static bool matches_any(const char *const *patterns, size_t count,
			const char *name, const char *module)
{
	for (size_t i = 0; i < count; i++)
		if (name_pattern_matches(patterns[i], name, module))
			return true;
	return false;
}

bool filter_excludes(const struct filter *filter, const char *name,
		     const char *module)
{
	if (filter->only_count &&
	    !matches_any(filter->only, filter->only_count, name, module))
		return true;
	return matches_any(filter->except, filter->except_count, name, module);
}

bool filter_excludes_site(const struct filter *filter, const char *name)
{
	return matches_any(filter->except, filter->except_count, name,
			   SITE_MODULE);
}

struct excluded {
	const struct filter *filter;
	struct filter_matches *matches;
	uint64_t *address;
	size_t count, room;
	uint64_t all;
};

static int visit_function(void *context, uint64_t address, const char *name,
			  const char *module)
{
	struct excluded *excluded = context;

	filter_matches_function(excluded->matches, name, module);
	if (!address || !filter_excludes(excluded->filter, name, module))
		return 0;
	excluded->all++;
	if (excluded->count < excluded->room)
		excluded->address[excluded->count++] = address;
	return 0;
}

/* Built privately, because shared memory is never read back. */
static void write_table(struct page_shm *page, const struct excluded *excluded,
			uint32_t room)
{
	uint64_t *shared = (uint64_t *)((char *)page + ARENA_FILTER);
	uint64_t entries = ENTRIES_MIN, at;
	uint64_t *table;
	uint32_t shift;

	while (entries < ENTRIES_WANTED * excluded->count && entries < room)
		entries *= 2;
	table = calloc(entries, sizeof(*table));
	if (!table)
		return;
	shift = 64 - (uint32_t)__builtin_ctzll(entries);
	for (uint64_t i = 0; i < excluded->count; i++) {
		at = filter_index(excluded->address[i], shift);
		while (table[at] && table[at] != excluded->address[i])
			at = (at + 1) & (entries - 1);
		table[at] = excluded->address[i];
	}
	memcpy(shared, table, entries * sizeof(*table));
	free(table);
	/* relaxed: CONTROL, which comes after, releases it */
	atom_store_rlx(&page->filter_shift, shift);
}

uint64_t filter_publish(const struct filter *filter, struct modules *modules,
			struct page_shm *page, uint32_t room,
			struct filter_matches *matches)
{
	struct excluded excluded = {
		.filter = filter,
		.matches = matches,
		.room = room / ENTRIES_PER_FUNCTION,
	};

	excluded.address =
		malloc(MAX(excluded.room, 1) * sizeof(*excluded.address));
	if (excluded.address) {
		modules_each_function(modules, visit_function, &excluded);
		if (excluded.count)
			write_table(page, &excluded, room);
	}
	free(excluded.address);
	return excluded.all;
}
