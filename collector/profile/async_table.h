/* SPDX-License-Identifier: Apache-2.0
 *
 * async_table - asynchronous slices of a recording by name and category: how
 * many there were, how long they took, and what threads did for them.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_ASYNC_TABLE_H
#define PERFREC_COLLECTOR_PROFILE_ASYNC_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"

#define ASYNC_NAMES_MAX 1000 /* in a table */

/* Sums over slices of one name. Times in ns. */
struct async_sums {
	uint64_t count; /* that have ended */
	uint64_t entered; /* of these: by at least one thread */
	uint64_t total_ns; /* from their begins to their ends */
	uint64_t active_ns; /* of that: at least one thread was inside */
	uint64_t busy_ns; /* that threads were inside; each thread counts */
	/* Of busy_ns: on a CPU; and where nobody knows whether on a CPU. */
	uint64_t on_cpu_ns, unknown_ns;
};

struct async_total {
	const char *name, *category;
	struct async_sums sums;
};

/* All zero is an empty table. One thread at a time. */
struct async_table {
	struct pool pool; /* struct async_total */
};

/* Adds @from to @to. */
void async_sums_add(struct async_sums *to, const struct async_sums *from);

/* Adds @one to the total of its name and category. Its texts must outlive the
 * table. 0; or -ENOMEM: there is no memory, or there are ASYNC_NAMES_MAX
 * others, and nothing was added. */
int async_table_add(struct async_table *table, const struct async_total *one);
/* Sorts the totals by total_ns, the greatest first, and returns the first of
 * *@count. They are the table's, which is only released from then on. */
const struct async_total *async_table_sort(struct async_table *table,
					   size_t *count);
void async_table_release(struct async_table *table);

#endif
