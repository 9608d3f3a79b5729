/* SPDX-License-Identifier: Apache-2.0
 *
 * function_table - what each function of a recording cost, over all threads
 * and processes, by name and module.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_FUNCTION_TABLE_H
#define PERFREC_COLLECTOR_PROFILE_FUNCTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"

struct function_total {
	const char *name, *module;
	uint64_t calls, self_ns, total_ns;
	/* What was sampled or allocated in the function itself, and of that
	 * what was in use at the end. */
	uint64_t cpu_samples, cpu_ns;
	uint64_t alloc_objects, alloc_bytes, inuse_objects, inuse_bytes;
	uint64_t temporary_objects;
};

/* All zero is an empty table. One thread at a time. */
struct function_table {
	struct pool pool; /* struct function_total */
};

/* Adds @one to the totals of its function. Its strings must outlive the table.
 * 0, or -ENOMEM: nothing was added. */
int function_table_add(struct function_table *table,
		       const struct function_total *one);
/* Sorts the totals by self time, the greatest first, and returns the first of
 * *@count. They are the table's, which is only released from then on. */
const struct function_total *function_table_sort(struct function_table *table,
						 size_t *count);
void function_table_release(struct function_table *table);

#endif
