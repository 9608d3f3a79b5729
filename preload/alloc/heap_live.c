/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/alloc/heap_live.h"

#include <stddef.h>
#include <sys/mman.h>

#include "preload/core/sys.h"

/* 2 MiB, allocated page by page as blocks need them. */
#define BUCKETS 32768u
#define BUCKET_ENTRIES 8

struct bucket {
	uint64_t key[BUCKET_ENTRIES]; /* 0: empty */
};

uint8_t g_heap_live_count[1u << HEAP_LIVE_BITS];
static struct bucket *g_buckets;

void heap_live_init(void)
{
	long address = sys(SYS_mmap, 0, BUCKETS * sizeof(struct bucket),
			   PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (!sys_failed(address))
		g_buckets = (struct bucket *)address;
}

/* Other bits of the hash than for the count. */
static struct bucket *bucket_of(uint64_t hash)
{
	return &g_buckets[hash >> 32 & (BUCKETS - 1)];
}

static void count_change(uint8_t *count, int by)
{
	uint8_t old;

	do {
		/* relaxed: the swap below decides */
		old = atom_load_rlx(count);
		if (old == UINT8_MAX)
			return;
		/* order: sc, LIVE: counted before the block is used */
	} while (!atom_cas_sc(count, old, (uint8_t)(old + by)));
}

bool heap_live_add(uint64_t key)
{
	uint64_t hash = heap_live_hash(key);
	struct bucket *bucket = bucket_of(hash);

	if (!g_buckets || !key)
		return false;
	for (int i = 0; i < BUCKET_ENTRIES; i++)
		/* relaxed: the swap decides */
		if (!atom_load_rlx(&bucket->key[i]) &&
		    /* order: sc, LIVE: in the set before the block is used */
		    atom_cas_sc(&bucket->key[i], 0, key)) {
			count_change(heap_live_count(hash), 1);
			return true;
		}
	return false;
}

bool heap_live_remove_slowly(uint64_t key)
{
	uint64_t hash = heap_live_hash(key);
	struct bucket *bucket = bucket_of(hash);

	if (!g_buckets)
		return false;
	for (int i = 0; i < BUCKET_ENTRIES; i++)
		/* relaxed: the owner of the block has seen it added */
		if (atom_load_rlx(&bucket->key[i]) == key &&
		    /* order: sc, LIVE: one free removes it */
		    atom_cas_sc(&bucket->key[i], key, 0)) {
			count_change(heap_live_count(hash), -1);
			return true;
		}
	return false;
}
