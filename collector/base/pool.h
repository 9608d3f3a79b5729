/* SPDX-License-Identifier: Apache-2.0
 *
 * pool - items of one size, each once, called by number from 0 on. An item
 * begins with its key, whose bytes tell it apart from all others: no padding
 * in it, and pointers only to what there is one of. Memory comes from a
 * budget. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_BASE_POOL_H
#define PERFREC_COLLECTOR_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;

struct pool {
	struct budget *budget;
	size_t item_bytes, key_bytes; /* the latter a multiple of 8 */
	void *items; /* moves as it grows */
	uint32_t count, room;
	uint32_t *slots; /* hash table: number + 1; 0: empty */
	uint32_t slot_mask;
};

/* An empty one, which takes no memory yet. */
void pool_init(struct pool *pool, struct budget *budget, size_t item_bytes,
	       size_t key_bytes);
void pool_release(struct pool *pool);

/* Whether there is an item with the key of @item: its number in *@out. */
bool pool_find(const struct pool *pool, const void *item, uint32_t *out);
/* The number of the item with the key of @item, which is copied in if there is
 * none. Returns 0, 1 when it was copied in, or -ENOMEM. */
int pool_intern(struct pool *pool, const void *item, uint32_t *out);

#endif
