/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_live - the blocks that were sampled and have not been freed. It is a set
 * of keys (heap_sample_key()), so that of millions of frees only those of
 * sampled blocks are recorded.
 *
 * A byte for each of 65,536 hashes counts the blocks of the set that have this
 * hash. Nearly every free looks at that and no further. Behind are buckets of a
 * cache line each: eight keys, in no order, without tombstones. There are no
 * locks: a key belongs to the one thread that has the block, and an entry
 * changes by compare-and-swap. A full bucket takes no more: such a block is
 * sampled, but its end is not told. In a forked child the set is a copy, as the
 * blocks are.
 */
#ifndef PERFREC_PRELOAD_ALLOC_HEAP_LIVE_H
#define PERFREC_PRELOAD_ALLOC_HEAP_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define HEAP_LIVE_BITS 16

/* A count for each hash. One that has come to 255 stays there for good. */
extern uint8_t g_heap_live_count[1u << HEAP_LIVE_BITS];

/* Once, before any other. Without memory nothing is ever in the set. */
void heap_live_init(void);

/* Add @key. False when there is no room. Any context. */
bool heap_live_add(uint64_t key);
/* Remove @key. Whether it was in the set. Any context. */
bool heap_live_remove_slowly(uint64_t key);

static inline uint64_t heap_live_hash(uint64_t key)
{
	return key * HASH_MULTIPLIER;
}

static inline uint8_t *heap_live_count(uint64_t hash)
{
	return &g_heap_live_count[hash >> (64 - HEAP_LIVE_BITS)];
}

/* The same. Nearly all keys that are not in the set are found out at once. */
static inline bool heap_live_remove(uint64_t key)
{
	/* relaxed: whoever has the block has seen it added */
	return unlikely(atom_load_rlx(heap_live_count(heap_live_hash(key)))) &&
	       heap_live_remove_slowly(key);
}

#endif
