/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/profile/function_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/hash.h"

#define TABLE_MIN 256

static struct function_total *find(struct function_table *table,
				   const struct function_total *one)
{
	uint64_t hash = hash_text(HASH_START, one->name);
	struct function_total *entry;
	size_t i;

	hash = hash_text(hash * 31, one->module);
	for (i = hash;; i++) {
		entry = &table->entry[i & table->mask];
		if (!entry->name || (!strcmp(entry->name, one->name) &&
				     !strcmp(entry->module, one->module)))
			return entry;
	}
}

/* Makes sure that one more entry leaves the table at most half full. */
static int reserve(struct function_table *table)
{
	size_t size = table->entry ? 2 * (table->mask + 1) : TABLE_MIN, i;
	struct function_table bigger = { .mask = size - 1,
					 .count = table->count };

	if (table->entry && 2 * (table->count + 1) <= table->mask)
		return 0;
	bigger.entry = calloc(size, sizeof(*bigger.entry));
	if (!bigger.entry)
		return -ENOMEM;
	for (i = 0; table->entry && i <= table->mask; i++)
		if (table->entry[i].name)
			*find(&bigger, &table->entry[i]) = table->entry[i];
	free(table->entry);
	*table = bigger;
	return 0;
}

int function_table_add(struct function_table *table,
		       const struct function_total *one)
{
	struct function_total *entry;

	if (reserve(table) < 0)
		return -ENOMEM;
	entry = find(table, one);
	if (!entry->name) {
		entry->name = one->name;
		entry->module = one->module;
		table->count++;
	}
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

	if (!left->name || !right->name)
		return !left->name - !right->name;
	if (left->self_ns != right->self_ns)
		return left->self_ns < right->self_ns ? 1 : -1;
	return strcmp(left->name, right->name);
}

void function_table_sort(struct function_table *table)
{
	if (table->entry)
		qsort(table->entry, table->mask + 1, sizeof(*table->entry),
		      by_self);
}

void function_table_release(struct function_table *table)
{
	free(table->entry);
	*table = (struct function_table){ 0 };
}
