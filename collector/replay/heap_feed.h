/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_feed - puts a thread's records of blocks of memory into the order of its
 * process: the inline code that replay runs for each ALLOC and FREE, and the
 * format of the items, which process_heap.c consumes. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_HEAP_FEED_H
#define PERFREC_COLLECTOR_REPLAY_HEAP_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/replay/order.h"
#include "shared/record_ext.h"

/* Flags of order_item.c; its low 32 bits are a number. On equal clocks a free
 * goes before an allocation, because its c is smaller. */
#define HEAP_ITEM_ALLOC (1ULL << 63) /* a: address, b: size; number: site */
#define HEAP_ITEM_LOSS (1ULL << 62) /* a, b: lost allocs, lost frees */
#define HEAP_ITEM_SAMPLE (1ULL << 61) /* a: a struct sample to post */
#define HEAP_ITEM_TEMPORARY (1ULL << 60)
/* A free has no flag. a: address, b: address in the program; number: owner */

struct heap_feed {
	struct order_stream *stream;
	uint64_t last; /* address of its last block; 0: freed */
	uint32_t owner;
};

static inline struct order_item heap_feed_alloc(struct heap_feed *feed,
						uint64_t clock,
						uint64_t address, uint64_t size,
						uint32_t site)
{
	feed->last = address;
	return (struct order_item){ clock, address, size,
				    HEAP_ITEM_ALLOC | site };
}

/* Returns the item for a free of the block that the heap knows by @address.
 * @told is its address in the program. It differs only for blocks of a heap
 * that the program keeps itself (thread_heap.c). */
static inline struct order_item heap_feed_free(struct heap_feed *feed,
					       uint64_t clock, uint64_t address,
					       uint64_t told)
{
	bool temporary = address == feed->last;

	if (temporary)
		feed->last = 0;
	return (struct order_item){ clock, address, told,
				    (temporary ? HEAP_ITEM_TEMPORARY : 0) |
					    feed->owner };
}

/* Feeds @word, an ALLOC at @site (0: not known yet) or a FREE. Returns false if
 * it fed nothing and the caller has to take the long way. */
static inline bool heap_feed_block(struct heap_feed *feed, uint64_t word,
				   uint64_t clock, uint32_t site)
{
	struct order_stream *stream = feed->stream;
	uint64_t address = record_alloc_address(word);

	if (unlikely(stream->next == stream->end || !address))
		return false;
	if (record_kind(word) == RECORD_FREE) {
		*stream->next++ = heap_feed_free(feed, clock, address, address);
		return true;
	}
	if (unlikely(!site))
		return false;
	*stream->next++ = heap_feed_alloc(feed, clock, address,
					  record_alloc_size(word), site);
	return true;
}

#endif
