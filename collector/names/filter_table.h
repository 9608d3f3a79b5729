/* SPDX-License-Identifier: Apache-2.0
 *
 * filter_table - changes the table of excluded functions of an arena
 * (ring_shm.h) while the program searches it. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_NAMES_FILTER_TABLE_H
#define PERFREC_COLLECTOR_NAMES_FILTER_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct filter_table;
struct page_shm;

/* Creates an empty table of @entries, a power of two up to FILTER_ENTRIES, for
 * the arena at @page, which must outlive it. From CONTROL_ON on, each hook
 * costs some ns more. Only for waiting programs (CONTROL_HOLD). Returns NULL if
 * out of memory. */
struct filter_table *filter_table_new(struct page_shm *page, uint32_t entries);
void filter_table_free(struct filter_table *table);

/* Excludes @function, not 0 or 1. Hooks count its calls in the cells of
 * @number; 0: nowhere. Also changes the number of an entry. Returns 0, or
 * -ENOSPC: a quarter of the entries is used, or its search would be too
 * long. */
int filter_table_add(struct filter_table *table, uint64_t function,
		     uint32_t number);
bool filter_table_has(const struct filter_table *table, uint64_t function);
void filter_table_remove(struct filter_table *table, uint64_t function);

#endif
