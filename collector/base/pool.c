/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "shared/compiler.h"

#define ROOM_MIN 64u
#define ROOM_MAX (1u << 30)

void pool_init(struct pool *pool, struct budget *budget, size_t item_bytes,
	       size_t key_bytes)
{
	*pool = (struct pool){ .budget = budget,
			       .item_bytes = item_bytes,
			       .key_bytes = key_bytes };
}

void pool_init_key(struct pool *pool, struct budget *budget, size_t item_bytes,
		   const struct pool_key *key)
{
	*pool = (struct pool){ .budget = budget,
			       .key = key,
			       .item_bytes = item_bytes };
}

static uint64_t bytes_of(const struct pool *pool, uint32_t room)
{
	return room * (pool->item_bytes + 2 * sizeof(*pool->slots));
}

void pool_release(struct pool *pool)
{
	if (pool->room && pool->budget)
		budget_give(pool->budget, bytes_of(pool, pool->room));
	free(pool->items);
	free(pool->slots);
	*pool = (struct pool){ 0 };
}

static uint8_t *item_at(const struct pool *pool, uint32_t number)
{
	return (uint8_t *)pool->items + number * pool->item_bytes;
}

static uint64_t hash_words(const struct pool *pool, const void *item)
{
	uint64_t hash = 0, word;

	for (size_t at = 0; at < pool->key_bytes; at += sizeof(word)) {
		memcpy(&word, (const uint8_t *)item + at, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
	}
	return hash;
}

static bool is_same(const struct pool *pool, const void *a, const void *b)
{
	return pool->key ? pool->key->is_same(a, b)
			 : !memcmp(a, b, pool->key_bytes);
}

/* Returns the slot of @item, or the empty slot where it belongs. */
static uint32_t *find_slot(const struct pool *pool, const void *item)
{
	uint64_t hash =
		pool->key ? pool->key->hash(item) : hash_words(pool, item);
	uint32_t i = (uint32_t)hash & pool->slot_mask;

	for (;; i = (i + 1) & pool->slot_mask) {
		uint32_t *slot = &pool->slots[i];

		if (!*slot || is_same(pool, item_at(pool, *slot - 1), item))
			return slot;
	}
}

static bool pool_resize(struct pool *pool, uint32_t room)
{
	uint32_t *slots = calloc(2 * (size_t)room, sizeof(*slots));
	void *items = realloc(pool->items, room * pool->item_bytes);

	if (items)
		pool->items = items;
	if (!items || !slots) {
		free(slots);
		return false;
	}
	free(pool->slots);
	pool->slots = slots;
	pool->slot_mask = 2 * room - 1;
	pool->room = room;
	for (uint32_t i = 0; i < pool->count; i++)
		*find_slot(pool, item_at(pool, i)) = i + 1;
	return true;
}

static bool pool_grow(struct pool *pool)
{
	uint32_t room = MAX(2 * pool->room, ROOM_MIN);
	uint64_t more = bytes_of(pool, room) - bytes_of(pool, pool->room);

	if (room > ROOM_MAX ||
	    (pool->budget && !budget_take(pool->budget, more)))
		return false;
	if (pool_resize(pool, room))
		return true;
	if (pool->budget)
		budget_give(pool->budget, more);
	return false;
}

bool pool_find(const struct pool *pool, const void *item, uint32_t *out)
{
	uint32_t slot = pool->room ? *find_slot(pool, item) : 0;

	*out = slot - 1;
	return slot;
}

int pool_intern(struct pool *pool, const void *item, uint32_t *out)
{
	uint32_t *slot;

	if (pool->room) {
		slot = find_slot(pool, item);
		if (*slot) {
			*out = *slot - 1;
			return 0;
		}
	}
	if (pool->count == pool->room && !pool_grow(pool))
		return -ENOMEM;
	slot = find_slot(pool, item);
	memcpy(item_at(pool, pool->count), item, pool->item_bytes);
	*out = pool->count++;
	*slot = *out + 1;
	return 1;
}
