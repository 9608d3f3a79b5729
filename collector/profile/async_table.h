/* SPDX-License-Identifier: Apache-2.0
 *
 * async_table - sums of a recording's asynchronous slices by name and category:
 * counts, durations, and the times of threads inside.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_ASYNC_TABLE_H
#define PERFREC_COLLECTOR_PROFILE_ASYNC_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"

#define ASYNC_NAMES_MAX 1000

/* Sums over slices of one name. Times in ns. */
struct async_sums {
	uint64_t count; /* ended slices */
	uint64_t entered; /* slices that at least one thread entered */
	uint64_t total_ns; /* from begin to end */
	uint64_t active_ns; /* part of total_ns with at least one thread
			     * inside */
	uint64_t busy_ns; /* time of threads inside; each thread counts */
	/* Parts of busy_ns: on a CPU, and unknown. */
	uint64_t on_cpu_ns, unknown_ns;
};

struct async_total {
	const char *name, *category;
	struct async_sums sums;
};

/* All zero: empty. One thread at a time. */
struct async_table {
	struct pool pool; /* struct async_total */
};

void async_sums_add(struct async_sums *to, const struct async_sums *from);

/* Adds @one to the total of its name and category. The texts must outlive the
 * table. Returns 0, or -ENOMEM without memory or after ASYNC_NAMES_MAX others;
 * then nothing was added. */
int async_table_add(struct async_table *table, const struct async_total *one);
/* Sorts the totals by total_ns, largest first. Returns the first of *@count;
 * the table owns them. Afterwards the table may only be released. */
const struct async_total *async_table_sort(struct async_table *table,
					   size_t *count);
void async_table_release(struct async_table *table);

#endif
