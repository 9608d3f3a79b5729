/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/by_id.h"

#include <stdlib.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"

void by_id_init(struct by_id *list, struct budget *budget)
{
	*list = (struct by_id){ 0 };
	pool_init(&list->ids, budget, sizeof(uint64_t), sizeof(uint64_t));
}

void by_id_release(struct by_id *list)
{
	for (uint32_t i = 0; i < list->ids.count; i++)
		free(list->items[i]);
	free(list->items);
	pool_release(&list->ids);
}

void *by_id_find(const struct by_id *list, uint64_t id)
{
	uint32_t number;

	return pool_find(&list->ids, &id, &number) ? list->items[number] : NULL;
}

void *by_id_add(struct by_id *list, uint64_t id, size_t bytes)
{
	struct budget *budget = list->ids.budget;
	uint32_t number;
	void *item = NULL;

	if (budget_take(budget, bytes)) {
		item = calloc(1, bytes);
		if (!item)
			budget_give(budget, bytes);
	}
	if (!item ||
	    grow_array_from(budget, list->items, list->room,
			    list->ids.count + 1) ||
	    pool_intern(&list->ids, &id, &number) < 0) {
		if (item)
			budget_give(budget, bytes);
		free(item);
		return NULL;
	}
	list->items[number] = item;
	return item;
}
