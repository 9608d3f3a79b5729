/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_live - the set of sampled blocks that live, by key (heap_sample_key()).
 * With it only frees of sampled blocks are recorded, among millions of frees.
 *
 * A byte for each of 65,536 hashes counts the blocks with that hash, and nearly
 * every free reads only that byte. Behind are buckets of one cache line: eight
 * keys, unordered, without tombstones. There are no locks: only the thread that
 * owns the block uses its key, and entries change by compare-and-swap. A full
 * bucket takes no more keys: the block is sampled, but its free is not
 * recorded. A forked child has copies of the blocks and of the set.
 */
#ifndef PERFREC_PRELOAD_ALLOC_HEAP_LIVE_H
#define PERFREC_PRELOAD_ALLOC_HEAP_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define HEAP_LIVE_BITS 16

/* Count for each hash. A count of 255 is permanent. */
extern uint8_t g_heap_live_count[1u << HEAP_LIVE_BITS];

/* Once, before all others. Without memory the set stays empty. */
void heap_live_init(void);

/* Adds @key. Returns false if there is no room. Any context. */
bool heap_live_add(uint64_t key);
/* Removes @key. Returns true if it was in the set. Any context. */
bool heap_live_remove_slowly(uint64_t key);

static inline uint64_t heap_live_hash(uint64_t key)
{
	return key * HASH_MULTIPLIER;
}

static inline uint8_t *heap_live_count(uint64_t hash)
{
	return &g_heap_live_count[hash >> (64 - HEAP_LIVE_BITS)];
}

/* heap_live_remove_slowly() only if the hash has a count. */
static inline bool heap_live_remove(uint64_t key)
{
	/* relaxed: the owner of the block has seen it added */
	return unlikely(atom_load_rlx(heap_live_count(heap_live_hash(key)))) &&
	       heap_live_remove_slowly(key);
}

#endif
