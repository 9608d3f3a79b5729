/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/text_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/lock.h"
#include "shared/hash.h"

#define BUCKETS 65536

struct kept_bytes {
	struct kept_bytes *next; /* of its bucket */
	size_t size;
	_Alignas(max_align_t) unsigned char bytes[];
};

struct text_store {
	struct lock lock;
	uint64_t bytes; /* of all kept_bytes */
	struct kept_bytes *buckets[BUCKETS];
};

int text_store_new(struct text_store **out)
{
	struct text_store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
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
	for (size_t i = 0; i < BUCKETS; i++)
		while (store->buckets[i]) {
			struct kept_bytes *kept = store->buckets[i];

			store->buckets[i] = kept->next;
			free(kept);
		}
	lock_destroy(&store->lock);
	free(store);
}

/* store.lock held. The new copy, in @bucket; NULL: there is no room among the
 * first @most bytes. */
static const struct kept_bytes *keep_bytes(struct text_store *store,
					   struct kept_bytes **bucket,
					   const void *bytes, size_t size,
					   uint64_t most)
{
	struct kept_bytes *kept;

	if (store->bytes + sizeof(*kept) + size > most)
		return NULL;
	kept = malloc(sizeof(*kept) + size);
	if (!kept)
		return NULL;
	store->bytes += sizeof(*kept) + size;
	memcpy(kept->bytes, bytes, size);
	kept->size = size;
	kept->next = *bucket;
	*bucket = kept;
	return kept;
}

static const void *copy_within(struct text_store *store, const void *bytes,
			       size_t size, uint64_t most)
{
	uint64_t hash = hash_fold(hash_bytes(HASH_START, bytes, size));
	struct kept_bytes **bucket = &store->buckets[hash % BUCKETS];
	const struct kept_bytes *kept;

	lock_acquire(&store->lock);
	for (kept = *bucket; kept; kept = kept->next)
		if (kept->size == size && !memcmp(kept->bytes, bytes, size))
			break;
	if (!kept)
		kept = keep_bytes(store, bucket, bytes, size, most);
	lock_release(&store->lock);
	return kept ? kept->bytes : NULL;
}

const void *text_store_copy(struct text_store *store, const void *bytes,
			    size_t size)
{
	return copy_within(store, bytes, size, TEXT_STORE_BYTES_MAX);
}

const char *text_store_told(struct text_store *store, const char *text)
{
	return copy_within(store, text, strlen(text) + 1, TEXT_STORE_TOLD_MAX);
}

const char *text_store_text(struct text_store *store, const char *text)
{
	return text_store_copy(store, text, strlen(text) + 1);
}

uint64_t text_store_bytes(struct text_store *store)
{
	uint64_t bytes;

	lock_acquire(&store->lock);
	bytes = store->bytes;
	lock_release(&store->lock);
	return bytes;
}
