/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_feed - how what a thread says of blocks gets into the order of its
 * process: what replay does inline for each ALLOC and FREE, and what the
 * consumer (process_heap.c) finds in an item.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_HEAP_FEED_H
#define PERFREC_COLLECTOR_REPLAY_HEAP_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/replay/order.h"
#include "shared/record_ext.h"

/* c of an item; its lowest 32 bits are a number. Frees are smaller than
 * allocs, so go first at equal clocks. */
#define HEAP_ITEM_ALLOC (1ULL << 63) /* a: address, b: size; number: site */
#define HEAP_ITEM_LOSS (1ULL << 62) /* a, b: allocs, frees that were lost */
#define HEAP_ITEM_SAMPLE (1ULL << 61) /* a: a struct sample, to be posted */
#define HEAP_ITEM_TEMPORARY (1ULL << 60) /* of a free */
/* else a free. a: address, b: the same as the program has it; number: owner */

/* A thread's. */
struct heap_feed {
	struct order_stream *stream;
	uint64_t last; /* address of its last block; 0: it was freed */
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

/* Take in @word, an ALLOC at @site (0: not known) or a FREE. False: it takes
 * more than this. */
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
