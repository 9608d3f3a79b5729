/* SPDX-License-Identifier: Apache-2.0
 *
 * filter_table - keeps a private copy, since the program may write to the
 * table.
 */
#include "collector/names/filter_table.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/atomic.h"
#include "shared/ring_shm.h"

/* The shim probes linearly and needs empty entries. */
#define ENTRIES_PER_FUNCTION 4

struct filter_table {
	uint64_t *shared;
	uint16_t *numbers;
	uint32_t entries, shift;
	uint32_t used; /* including removed ones */
	uint64_t entry[]; /* private copy */
};

struct filter_table *filter_table_new(struct page_shm *page, uint32_t entries)
{
	struct filter_table *table =
		calloc(1, sizeof(*table) + entries * sizeof(*table->entry));

	if (!table)
		return NULL;
	table->shared = (uint64_t *)((char *)page + ARENA_FILTER);
	table->numbers = (uint16_t *)((char *)page + ARENA_FILTER_NUMBERS);
	table->entries = entries;
	table->shift = 64 - (uint32_t)__builtin_ctz(entries);
	/* relaxed: CONTROL, which comes after, releases it */
	atom_store_rlx(&page->filter_shift, table->shift);
	return table;
}

void filter_table_free(struct filter_table *table)
{
	free(table);
}

static uint32_t find_filtered(const struct filter_table *table,
			      uint64_t function)
{
	uint32_t at = (uint32_t)filter_index(function, table->shift);
	uint32_t free = UINT32_MAX;

	while (table->entry[at] && table->entry[at] != function) {
		if (table->entry[at] == FILTER_REMOVED && free == UINT32_MAX)
			free = at;
		at = (at + 1) & (table->entries - 1);
	}
	return table->entry[at] || free == UINT32_MAX ? at : free;
}

int filter_table_add(struct filter_table *table, uint64_t function,
		     uint32_t number)
{
	uint32_t first = (uint32_t)filter_index(function, table->shift);
	uint32_t at = find_filtered(table, function);

	if (((at - first) & (table->entries - 1)) >= FILTER_PROBES_MAX)
		return -ENOSPC;
	if (!table->entry[at]) {
		if (table->used >= table->entries / ENTRIES_PER_FUNCTION)
			return -ENOSPC;
		table->used++;
	}
	table->entry[at] = function;
	/* relaxed: FILTER orders it */
	atom_store_rlx(&table->numbers[at], (uint16_t)number);
	/* order: rel, FILTER: its number is there */
	atom_store_rel(&table->shared[at], function);
	return 0;
}

bool filter_table_has(const struct filter_table *table, uint64_t function)
{
	return table->entry[find_filtered(table, function)] == function;
}

void filter_table_remove(struct filter_table *table, uint64_t function)
{
	uint32_t at = find_filtered(table, function);

	if (table->entry[at] != function)
		return;
	table->entry[at] = FILTER_REMOVED;
	/* relaxed: nothing is read through it */
	atom_store_rlx(&table->shared[at], FILTER_REMOVED);
}
