/* SPDX-License-Identifier: Apache-2.0
 *
 * pool - unique items of one size, numbered from 0 in the order of insertion.
 * The key of an item identifies it. Memory comes from a budget. One thread at a
 * time.
 */
#ifndef PERFREC_COLLECTOR_BASE_POOL_H
#define PERFREC_COLLECTOR_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;

/* A key that is more than the first bytes of an item, such as texts that items
 * point to. */
struct pool_key {
	uint64_t (*hash)(const void *item);
	bool (*is_same)(const void *a, const void *b);
};

struct pool {
	struct budget *budget;
	const struct pool_key *key; /* NULL: the key is the first key_bytes */
	size_t item_bytes, key_bytes; /* key_bytes is a multiple of 8 */
	void *items; /* moves when it grows */
	uint32_t count, room;
	uint32_t *slots; /* hash table: number + 1; 0: empty */
	uint32_t slot_mask;
};

/* Makes an empty pool without memory. An item starts with its key, which has no
 * padding and only pointers to unique objects. */
void pool_init(struct pool *pool, struct budget *budget, size_t item_bytes,
	       size_t key_bytes);
/* As pool_init(), with @key to identify items. */
void pool_init_key(struct pool *pool, struct budget *budget, size_t item_bytes,
		   const struct pool_key *key);
/* Frees the items but not the objects that they point to. @pool may be all
 * zero. */
void pool_release(struct pool *pool);

/* Returns true if the pool has an item with the key of @item, and sets *@out to
 * its number. */
bool pool_find(const struct pool *pool, const void *item, uint32_t *out);
/* Finds the item with the key of @item, or copies @item in. Sets *@out to its
 * number. Returns 0, 1 if it was copied in, or -ENOMEM. */
int pool_intern(struct pool *pool, const void *item, uint32_t *out);

#endif
