/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/profile/async_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/pool.h"
#include "shared/hash.h"

static uint64_t hash_total(const void *item)
{
	const struct async_total *one = item;

	return hash_text(hash_text(HASH_START, one->name) * 31, one->category);
}

static bool is_same_total(const void *a, const void *b)
{
	const struct async_total *x = a, *y = b;

	return !strcmp(x->name, y->name) && !strcmp(x->category, y->category);
}

static const struct pool_key total_key = { hash_total, is_same_total };

void async_sums_add(struct async_sums *to, const struct async_sums *from)
{
	to->count += from->count;
	to->entered += from->entered;
	to->total_ns += from->total_ns;
	to->active_ns += from->active_ns;
	to->busy_ns += from->busy_ns;
	to->on_cpu_ns += from->on_cpu_ns;
	to->unknown_ns += from->unknown_ns;
}

int async_table_add(struct async_table *table, const struct async_total *one)
{
	const struct async_total empty = { .name = one->name,
					   .category = one->category };
	uint32_t number;

	if (!table->pool.item_bytes)
		pool_init_key(&table->pool, NULL, sizeof(empty), &total_key);
	if (!pool_find(&table->pool, &empty, &number) &&
	    (table->pool.count == ASYNC_NAMES_MAX ||
	     pool_intern(&table->pool, &empty, &number) < 0))
		return -ENOMEM;
	async_sums_add(&((struct async_total *)table->pool.items)[number].sums,
		       &one->sums);
	return 0;
}

static int by_total_time(const void *a, const void *b)
{
	const struct async_total *left = a, *right = b;
	int order;

	if (left->sums.total_ns != right->sums.total_ns)
		return left->sums.total_ns < right->sums.total_ns ? 1 : -1;
	order = strcmp(left->name, right->name);
	return order ? order : strcmp(left->category, right->category);
}

const struct async_total *async_table_sort(struct async_table *table,
					   size_t *count)
{
	*count = table->pool.count;
	if (*count)
		qsort(table->pool.items, *count, sizeof(struct async_total),
		      by_total_time);
	return table->pool.items;
}

void async_table_release(struct async_table *table)
{
	pool_release(&table->pool);
}
