/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/profile/function_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/hash.h"
#include "collector/base/pool.h"

static uint64_t hash_function(const void *item)
{
	const struct function_total *one = item;

	return hash_text(hash_text(HASH_START, one->name) * 31, one->module);
}

static bool is_same_function(const void *a, const void *b)
{
	const struct function_total *x = a, *y = b;

	return !strcmp(x->name, y->name) && !strcmp(x->module, y->module);
}

static const struct pool_key function_key = { hash_function, is_same_function };

int function_table_add(struct function_table *table,
		       const struct function_total *one)
{
	const struct function_total empty = { .name = one->name,
					      .module = one->module };
	struct function_total *entry;
	uint32_t number;

	if (!table->pool.item_bytes)
		pool_init_key(&table->pool, NULL, sizeof(empty), &function_key);
	if (pool_intern(&table->pool, &empty, &number) < 0)
		return -ENOMEM;
	entry = (struct function_total *)table->pool.items + number;
	entry->calls += one->calls;
	entry->self_ns += one->self_ns;
	entry->total_ns += one->total_ns;
	entry->cpu_samples += one->cpu_samples;
	entry->cpu_ns += one->cpu_ns;
	entry->alloc_objects += one->alloc_objects;
	entry->alloc_bytes += one->alloc_bytes;
	entry->inuse_objects += one->inuse_objects;
	entry->inuse_bytes += one->inuse_bytes;
	entry->temporary_objects += one->temporary_objects;
	return 0;
}

static int by_self(const void *a, const void *b)
{
	const struct function_total *left = a, *right = b;
	int order;

	if (left->self_ns != right->self_ns)
		return left->self_ns < right->self_ns ? 1 : -1;
	order = strcmp(left->name, right->name);
	return order ? order : strcmp(left->module, right->module);
}

const struct function_total *function_table_sort(struct function_table *table,
						 size_t *count)
{
	*count = table->pool.count;
	if (*count)
		qsort(table->pool.items, *count, sizeof(struct function_total),
		      by_self);
	return table->pool.items;
}

void function_table_release(struct function_table *table)
{
	pool_release(&table->pool);
}
