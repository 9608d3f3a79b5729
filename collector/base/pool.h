/* SPDX-License-Identifier: Apache-2.0
 *
 * pool - items of one size, each once, called by number from 0 on in the order
 * they came. The key of an item tells it apart from all others. Memory comes
 * from a budget. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_BASE_POOL_H
#define PERFREC_COLLECTOR_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;

/* What tells items apart, if it is more than the bytes they begin with: texts
 * that items point to, for example. */
struct pool_key {
	uint64_t (*hash)(const void *item);
	bool (*is_same)(const void *a, const void *b);
};

struct pool {
	struct budget *budget; /* NULL: nothing bounds its memory */
	const struct pool_key *key; /* NULL: the first key_bytes are it */
	size_t item_bytes, key_bytes; /* the latter a multiple of 8 */
	void *items; /* moves as it grows */
	uint32_t count, room;
	uint32_t *slots; /* hash table: number + 1; 0: empty */
	uint32_t slot_mask;
};

/* Makes an empty pool, which takes no memory yet. An item begins with its key:
 * no padding in it, and pointers only to what there is one of. */
void pool_init(struct pool *pool, struct budget *budget, size_t item_bytes,
	       size_t key_bytes);
/* The same for items that @key tells apart. */
void pool_init_key(struct pool *pool, struct budget *budget, size_t item_bytes,
		   const struct pool_key *key);
/* Frees the items, but not what they point to. @pool may be all zero. */
void pool_release(struct pool *pool);

/* Returns whether there is an item with the key of @item: its number in *@out.
 */
bool pool_find(const struct pool *pool, const void *item, uint32_t *out);
/* Sets *@out to the number of the item with the key of @item, which is copied
 * in if there is none. Returns 0, 1 when it was copied in, or -ENOMEM. */
int pool_intern(struct pool *pool, const void *item, uint32_t *out);

#endif
