/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/text_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/lock.h"
#include "shared/hash.h"

#define BUCKETS_FIRST 256

struct kept_bytes {
	struct kept_bytes *next;
	uint32_t size; /* below 4 GiB, as bytes_max */
	uint32_t hash;
	_Alignas(max_align_t) unsigned char bytes[];
};

struct text_store {
	struct lock lock;
	uint64_t bytes, bytes_max;
	size_t count;
	size_t bucket_count; /* a power of two */
	struct kept_bytes **buckets;
};

int text_store_new(uint64_t bytes_max, struct text_store **out)
{
	struct text_store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	store->bytes_max = bytes_max;
	store->bucket_count = BUCKETS_FIRST;
	store->buckets = calloc(BUCKETS_FIRST, sizeof(*store->buckets));
	if (!store->buckets) {
		free(store);
		return -ENOMEM;
	}
	lock_init(&store->lock, LOCK_TEXTS);
	*out = store;
	return 0;
}

void text_store_free(struct text_store **store_ptr)
{
	struct text_store *store = *store_ptr;

	*store_ptr = NULL;
	if (!store)
		return;
	for (size_t i = 0; i < store->bucket_count; i++)
		while (store->buckets[i]) {
			struct kept_bytes *kept = store->buckets[i];

			store->buckets[i] = kept->next;
			free(kept);
		}
	lock_destroy(&store->lock);
	free(store->buckets);
	free(store);
}

/* store.lock held. Out of memory, only searches are slower. */
static void grow_buckets(struct text_store *store)
{
	size_t count = store->bucket_count * 2;
	struct kept_bytes **buckets = calloc(count, sizeof(*buckets)), *kept;

	if (!buckets)
		return;
	for (size_t i = 0; i < store->bucket_count; i++)
		while ((kept = store->buckets[i])) {
			size_t to = kept->hash & (count - 1);

			store->buckets[i] = kept->next;
			kept->next = buckets[to];
			buckets[to] = kept;
		}
	free(store->buckets);
	store->buckets = buckets;
	store->bucket_count = count;
}

/* store.lock held. Returns NULL with ENOSPC above @most, or ENOMEM. */
static const struct kept_bytes *keep_new_bytes(struct text_store *store,
					       const void *bytes, size_t size,
					       uint32_t hash, uint64_t most)
{
	struct kept_bytes **bucket, *kept;

	if (store->bytes + sizeof(*kept) + size > most) {
		errno = ENOSPC;
		return NULL;
	}
	kept = malloc(sizeof(*kept) + size);
	if (!kept)
		return NULL;
	store->bytes += sizeof(*kept) + size;
	if (++store->count > store->bucket_count)
		grow_buckets(store);
	bucket = &store->buckets[hash & (store->bucket_count - 1)];
	memcpy(kept->bytes, bytes, size);
	kept->size = (uint32_t)size;
	kept->hash = hash;
	kept->next = *bucket;
	*bucket = kept;
	return kept;
}

static const void *copy_within(struct text_store *store, const void *bytes,
			       size_t size, uint64_t most)
{
	uint32_t hash =
		(uint32_t)hash_fold(hash_words(HASH_START, bytes, size));
	const struct kept_bytes *kept;

	lock_acquire(&store->lock);
	kept = store->buckets[hash & (store->bucket_count - 1)];
	for (; kept; kept = kept->next)
		if (kept->hash == hash && kept->size == size &&
		    !memcmp(kept->bytes, bytes, size))
			break;
	if (!kept)
		kept = keep_new_bytes(store, bytes, size, hash, most);
	lock_release(&store->lock);
	return kept ? kept->bytes : NULL;
}

const void *text_store_copy(struct text_store *store, const void *bytes,
			    size_t size)
{
	return copy_within(store, bytes, size, store->bytes_max);
}

const char *text_store_told(struct text_store *store, const char *text)
{
	return copy_within(store, text, strlen(text) + 1, store->bytes_max / 2);
}

const char *text_store_text(struct text_store *store, const char *text)
{
	return text_store_copy(store, text, strlen(text) + 1);
}

uint64_t text_store_bytes(struct text_store *store)
{
	return LOCKED(&store->lock, store->bytes);
}
