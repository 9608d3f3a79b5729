/* SPDX-License-Identifier: Apache-2.0
 *
 * test_heap_live - the shim's set of sampled blocks: a free finds exactly the
 * members, and a full bucket refuses new ones.
 */
/* The shim has no library to link with. */
#include "preload/alloc/heap_live.c" /* NOLINT(bugprone-suspicious-include) */

#include "tests/suite.h"

#define BLOCK 0x7f0000001000ULL

static void begin_set(void)
{
	memset(g_heap_live_count, 0, sizeof(g_heap_live_count));
	heap_live_init();
	ck_assert_ptr_nonnull(g_buckets);
}

FIXTURE(begin_set, NULL);

TEST(what_was_added_is_removed_once)
{
	ck_assert(!heap_live_remove(BLOCK));
	ck_assert(heap_live_add(BLOCK));
	ck_assert(!heap_live_remove(BLOCK + 16));
	ck_assert(heap_live_remove(BLOCK));
	ck_assert(!heap_live_remove(BLOCK));
}

TEST(no_block_is_refused)
{
	ck_assert(!heap_live_add(0));
	ck_assert(!heap_live_remove(0));
}

/* One more block than a bucket has entries; all share one count. */
TEST(a_full_bucket_takes_no_more)
{
	uint64_t want = heap_live_hash(BLOCK), key = BLOCK, key_of[9];
	size_t found = 0;

	/* Hashes with equal bits 32 to 46 share a bucket. */
	while (found < 9) {
		if (!((heap_live_hash(key) ^ want) >> 32 & (BUCKETS - 1)))
			key_of[found++] = key;
		key += 16;
	}
	for (size_t i = 0; i < 8; i++)
		ck_assert(heap_live_add(key_of[i]));
	ck_assert(!heap_live_add(key_of[8]));
	ck_assert(!heap_live_remove(key_of[8]));
	ck_assert(heap_live_remove(key_of[3]));
	ck_assert(heap_live_add(key_of[8]));
	for (size_t i = 0; i < 9; i++)
		ck_assert(heap_live_remove(key_of[i]) == (i != 3));
}

TEST(many_blocks)
{
	const uint64_t blocks = 20000;
	uint64_t added = 0, removed = 0;

	for (uint64_t i = 0; i < blocks; i++)
		added += heap_live_add(BLOCK + 48 * i);
	/* Few of the 32,768 buckets of eight entries are full. */
	ck_assert_uint_gt(added, blocks - blocks / 100);
	for (uint64_t i = 0; i < blocks; i++)
		removed += heap_live_remove(BLOCK + 48 * i);
	ck_assert_uint_eq(removed, added);
	for (size_t i = 0; i < ARRAY_SIZE(g_heap_live_count); i++)
		ck_assert_uint_eq(g_heap_live_count[i], 0);
}

/* A count saturates at 255; then each free searches the bucket. */
TEST(a_count_that_overflows_hides_nothing)
{
	uint8_t *count = heap_live_count(heap_live_hash(BLOCK));

	ck_assert(heap_live_add(BLOCK));
	*count = UINT8_MAX;
	ck_assert(heap_live_remove(BLOCK));
	ck_assert_uint_eq(*count, UINT8_MAX);
	ck_assert(heap_live_add(BLOCK));
	ck_assert(heap_live_remove(BLOCK));
	ck_assert(!heap_live_remove(BLOCK));
}
