/* SPDX-License-Identifier: Apache-2.0
 *
 * by_id - items of one kind, by a number of 64 bits. The list keeps the order of
 * adding, and items do not move. Memory comes from a budget. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_BASE_BY_ID_H
#define PERFREC_COLLECTOR_BASE_BY_ID_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"

struct by_id {
	struct pool ids; /* of uint64_t; ids.count: the number of items */
	void **items;
	uint32_t room;
};

void by_id_init(struct by_id *list, struct budget *budget);
/* Frees the items too. @list may be all zero. */
void by_id_release(struct by_id *list);
/* Returns the item with @id, or NULL. */
void *by_id_find(const struct by_id *list, uint64_t id);
/* Adds an item of @bytes, all zero, with a new @id. Returns NULL without room. */
void *by_id_add(struct by_id *list, uint64_t id, size_t bytes);

#endif
