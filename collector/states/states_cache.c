/* SPDX-License-Identifier: Apache-2.0
 *
 * states_cache - an item of the file is a struct entry.
 */

#include "collector/states/states_cache.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "collector/output/cache_files.h"

struct entry {
	uint64_t offset;
	uint32_t state, unused;
	float mean_ns, calls_per_second;
};

_Static_assert(sizeof(struct entry) == 24, "no gaps");

static const struct cache_kind g_kind = {
	.prefix = CACHE_PREFIX_FUNCTIONS,
	.magic = "perfrecF",
	.version = 2,
	.item_bytes = sizeof(struct entry),
	.items_max = STATES_CACHE_FUNCTIONS_MAX,
	.files_max = STATES_CACHE_FILES_MAX,
};

/* --- reading ------------------------------------------------------------- */

static bool is_range(float value)
{
	return isfinite(value) && value >= 0 && value <= 1e15f;
}

static bool entries_hold(const struct entry *entries, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct entry *entry = &entries[i];

		if (i && entry->offset <= entries[i - 1].offset)
			return false;
		if (entry->state > FUNCTION_COUNTED || entry->unused ||
		    !is_range(entry->mean_ns) ||
		    !is_range(entry->calls_per_second))
			return false;
	}
	return true;
}

static int take_entries(const struct entry *entries, uint32_t count,
			struct states_cache_list *list)
{
	list->functions = calloc(count ? count : 1, sizeof(*list->functions));
	if (!list->functions)
		return -ENOMEM;
	list->count = count;
	for (uint32_t i = 0; i < count; i++)
		list->functions[i] = (struct states_cache_function){
			.offset = entries[i].offset,
			.known = {
				.state = (enum function_state)entries[i].state,
				.mean_ns = entries[i].mean_ns,
				.calls_per_second = entries[i].calls_per_second,
			},
		};
	return 0;
}

int states_cache_load(const char *build_id, struct states_cache_list *list)
{
	void *entries;
	uint32_t count;
	int err = cache_file_load(&g_kind, build_id, &entries, &count);

	*list = (struct states_cache_list){ 0 };
	if (!err && !entries_hold(entries, count))
		err = -EBADMSG;
	if (!err)
		err = take_entries(entries, count, list);
	free(entries);
	return err;
}

void states_cache_release(struct states_cache_list *list)
{
	free(list->functions);
	*list = (struct states_cache_list){ 0 };
}

/* --- writing ------------------------------------------------------------- */

static int compare_offset(const void *one, const void *other)
{
	const struct states_cache_function *a = one, *b = other;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static float in_range(float value)
{
	return is_range(value) ? value : 0;
}

static uint32_t make_entries(const struct states_cache_function *functions,
			     size_t count, struct entry *entries)
{
	uint32_t made = 0;

	for (size_t i = 0; i < count && made < STATES_CACHE_FUNCTIONS_MAX;
	     i++) {
		const struct controller_known *known = &functions[i].known;

		if (known->state > FUNCTION_COUNTED ||
		    (i && functions[i].offset == functions[i - 1].offset))
			continue;
		entries[made++] = (struct entry){
			.offset = functions[i].offset,
			.state = known->state,
			.mean_ns = in_range(known->mean_ns),
			.calls_per_second = in_range(known->calls_per_second),
		};
	}
	return made;
}

int states_cache_store(const char *build_id,
		       struct states_cache_function *functions, size_t count)
{
	struct entry *entries;
	int err;

	if (count > STATES_CACHE_FUNCTIONS_MAX)
		count = STATES_CACHE_FUNCTIONS_MAX;
	entries = calloc(count ? count : 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	if (count)
		qsort(functions, count, sizeof(*functions), compare_offset);
	err = cache_file_store(&g_kind, build_id, entries,
			       make_entries(functions, count, entries));
	free(entries);
	return err;
}
