/* SPDX-License-Identifier: Apache-2.0
 *
 * filter_table - the table of excluded functions of one arena (ring_shm.h), for
 * who changes it while the program looks into it. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_NAMES_FILTER_TABLE_H
#define PERFREC_COLLECTOR_NAMES_FILTER_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct filter_table;
struct page_shm;

/*
 * A table of @entries entries, a power of two up to FILTER_ENTRIES, for the
 * arena that starts with @page, which must stay. It is empty: the program looks
 * into it from CONTROL_ON on, and then each call of a hook costs some ns more.
 * So it is for programs that wait (CONTROL_HOLD). NULL: no memory.
 */
struct filter_table *filter_table_new(struct page_shm *page, uint32_t entries);
/* Writes nothing. NULL: nothing. */
void filter_table_free(struct filter_table *table);

/* From now on the hooks leave out the function at @function, which is not 0 or
 * 1, and count its calls in the cells of @number, below FUNCTIONS_MAX; 0: in
 * none. If it is in the table, it gets that number. 0, or -ENOSPC: a quarter of
 * the entries was used, ever, or its search would be too long. */
int filter_table_add(struct filter_table *table, uint64_t function,
		     uint32_t number);
/* Whether the hooks leave out the function at @function. */
bool filter_table_has(const struct filter_table *table, uint64_t function);
/* The hooks record it again. If it is not in the table nothing happens. */
void filter_table_remove(struct filter_table *table, uint64_t function);

#endif
