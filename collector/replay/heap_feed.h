/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_feed - puts what a thread records of blocks of memory into the order of
 * its process: the inline code that replay runs for each ALLOC and FREE, and
 * the format of the items, which process_heap.c consumes. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_HEAP_FEED_H
#define PERFREC_COLLECTOR_REPLAY_HEAP_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/replay/order.h"
#include "shared/record_ext.h"

/* The flags of order_item.c; its lowest 32 bits are a number. A free has a
 * smaller c than an allocation, so it goes first when their clocks are equal.
 */
#define HEAP_ITEM_ALLOC (1ULL << 63) /* a: address, b: size; number: site */
#define HEAP_ITEM_LOSS (1ULL << 62) /* a, b: allocs, frees that were lost */
#define HEAP_ITEM_SAMPLE (1ULL << 61) /* a: a struct sample, to be posted */
#define HEAP_ITEM_TEMPORARY (1ULL << 60) /* of a free */
/* else a free. a: address, b: the same as the program has it; number: owner */

/* What a thread feeds with. */
struct heap_feed {
	struct order_stream *stream;
	uint64_t last; /* address of its last block; 0: it was freed */
	uint32_t owner;
};

/* The item of an allocation: @size bytes at @address, at @site. */
static inline struct order_item heap_feed_alloc(struct heap_feed *feed,
						uint64_t clock,
						uint64_t address, uint64_t size,
						uint32_t site)
{
	feed->last = address;
	return (struct order_item){ clock, address, size,
				    HEAP_ITEM_ALLOC | site };
}

/* The item of a free of the block that the heap knows by @address. @told is the
 * block's address in the program; it is another one only for a block of a heap
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

/* Feeds @word, an ALLOC at @site (0: the site is not known yet) or a FREE.
 * False: nothing was fed, the caller has to take the long way. */
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
