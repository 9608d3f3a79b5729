/* SPDX-License-Identifier: Apache-2.0
 *
 * order - sorts the records of a program's threads by their raw clocks. Each
 * thread has a stream of items, and its drain worker feeds the stream. A
 * consumer gets the items of all streams, the oldest first.
 *
 * An item can be handed over when no older item can come any more. The drain
 * workers find out: once every worker has read all its rings after some moment,
 * that moment is the watermark, and all items with an older clock are handed
 * over (order_release()).
 *
 * The order is as good as the clocks. A consumer must bear three exceptions:
 *   - The clock of a thread went back: the item with the smaller clock follows
 *     right behind the item fed before it.
 *   - An item was fed after the watermark had passed its clock: it comes late,
 *     behind younger items.
 *   - Memory is used up: all items are handed over at once, sorted only among
 *     themselves (order_early() counts how often).
 *
 * No item is ever lost. A worker waits for another worker only when memory is
 * used up, and then for the time of a few thousand items.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_ORDER_H
#define PERFREC_COLLECTOR_REPLAY_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/lock.h"
#include "shared/compiler.h"

struct budget;
struct order;

struct order_item {
	uint64_t clock; /* raw: ticks or ns, as the program's clock */
	uint64_t a, b;
	uint64_t c; /* on equal clocks, the smallest goes first */
};

/* One thread's items, with one feeder at a time. */
struct order_stream {
	struct order_item *next, *end;
	struct order *order;
	struct order_chunk *last;
	/* Of the consumer: */
	struct order_chunk *first; /* read next, from item @read */
	uint32_t read;
	struct order_chunk *stop; /* the last chunk that it may read now */
	uint32_t stop_count;
	bool closed; /* under the order's lock */
};

/* Consumes the @count items at @items, which are valid during the call. Only
 * one thread at a time calls it for an order. It must not feed this order. */
typedef void order_consume(void *context, const struct order_item *items,
			   size_t count);

/* Creates an order whose items go to @consume. The items take at most @bytes of
 * @budget, which must outlive the order. Returns 0 or -ENOMEM. The caller drops
 * its reference with order_put(). */
int order_new(struct budget *budget, uint64_t bytes, order_consume *consume,
	      void *context, struct order **out);
struct order *order_get(struct order *order);
/* Drops a reference and clears *@order, which may be NULL. Any thread. All
 * streams must be closed before the last reference goes. */
void order_put(struct order **order);

/* Creates a stream. Returns 0 or -ENOMEM. Any thread. */
int order_open(struct order *order, struct order_stream **out);
/* Ends a stream and clears *@stream, which may be NULL. The feeder calls it.
 * Items that were fed are still handed over in their turn. */
void order_close(struct order_stream **stream);
/* Makes room for at least one more item at stream->next. The feeder calls it.
 * When memory is used up it calls the consumer and may wait. */
void order_more(struct order_stream *stream);
/* Lets the consumer see all items fed so far. The feeder calls it at the end of
 * each visit of a ring; it is cheap if nothing was fed. */
void order_flush(struct order_stream *stream);

static inline void order_feed(struct order_stream *stream,
			      struct order_item item)
{
	if (unlikely(stream->next == stream->end))
		order_more(stream);
	*stream->next++ = item;
}

/* Hands all items with a clock below @watermark to the consumer. All records
 * before that clock must be fed. Does nothing while another thread hands items
 * over. Any thread; never waits. */
void order_release(struct order *order, uint64_t watermark);
/* Hands all flushed items to the consumer, and then returns. Waits for other
 * threads, but not for drain workers. */
void order_release_all(struct order *order);
/* Between the two calls the consumer is not called, so the caller can read its
 * data. Any thread, for a short time only. */
void order_lock(struct order *order);
void order_unlock(struct order *order);

/* Returns how often items were handed over early, for want of memory. It counts
 * before the consumer gets them. Any thread. */
uint64_t order_early(struct order *order);

/* --- all orders of the processes of an arena ----------------------------- */

struct orders {
	struct lock lock;
	struct order **order;
	uint32_t count, room;
};

void orders_init(struct orders *orders);
void orders_destroy(struct orders *orders);
/* Adds @order with a reference of its own. Returns 0 or -ENOMEM. Any thread. */
int orders_add(struct orders *orders, struct order *order);
/* Removes @order, if present, and drops its reference. Any thread. */
void orders_remove(struct orders *orders, struct order *order);
/* Calls order_release() for each order. Nearly free without orders. Any
 * thread. */
void orders_release(struct orders *orders, uint64_t watermark);

#endif
