/* SPDX-License-Identifier: Apache-2.0
 *
 * order - sorts what the threads of a program recorded by their raw clocks.
 * Each thread has a stream of items. The drain worker of the thread feeds the
 * stream. A consumer gets the items of all streams, the oldest first.
 *
 * An item can be handed over when nothing older can come any more. The drain
 * workers find out when that is: once every worker has looked at all its rings
 * after some moment, that moment is the watermark, and all items with an older
 * clock are handed over (order_release()).
 *
 * The order is as good as the clocks. Three exceptions remain, and a consumer
 * must bear them:
 *   - The clock of a thread went back: the item with the smaller clock follows
 *     right behind the item that was fed before it.
 *   - An item was fed after the watermark had passed its clock: it comes late,
 *     behind younger items that were handed over already.
 *   - Memory is used up: all that was fed is handed over at once, sorted only
 *     among itself (order_early() counts how often).
 *
 * No item is ever lost. A worker waits for another worker only when memory is
 * used up, and then for as long as a few thousand items take.
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
	uint64_t clock; /* raw: ticks or ns, whatever the program's clock is */
	uint64_t a, b;
	uint64_t c; /* of items of equal clocks the smallest goes first */
};

/* One thread's items. Of one feeder at a time. */
struct order_stream {
	struct order_item *next, *end; /* room for the next items */
	struct order *order;
	struct order_chunk *last; /* what next and end point into */
	/* Of whoever consumes: */
	struct order_chunk *first; /* what is read next, from item @read */
	uint32_t read;
	struct order_chunk *stop; /* up to where it may read just now */
	uint32_t stop_count;
	bool closed; /* under the order's lock */
};

/* Consumes the @count items at @items, which are valid during the call. Only
 * one thread at a time calls it for an order. It must not feed this order. */
typedef void order_consume(void *context, const struct order_item *items,
			   size_t count);

/* A new order whose items go to @consume, with @context. Its items take at most
 * @bytes, out of @budget, which must outlive the order. 0 or -ENOMEM. The
 * caller gets one reference, and gives it back by order_put(). */
int order_new(struct budget *budget, uint64_t bytes, order_consume *consume,
	      void *context, struct order **out);
/* A second reference to @order. Any thread. */
struct order *order_get(struct order *order);
/* Gives a reference back and clears *@order, which may be NULL. Any thread.
 * When the last reference goes, all streams must be closed. */
void order_put(struct order **order);

/* A new stream. 0 or -ENOMEM. Any thread. */
int order_open(struct order *order, struct order_stream **out);
/* Ends a stream and clears *@stream, which may be NULL. The feeder calls it;
 * the items that were fed are still handed over in their turn. */
void order_close(struct order_stream **stream);
/* Makes room for at least one more item at stream->next. The feeder calls it;
 * when memory is used up it calls the consumer and may wait. */
void order_more(struct order_stream *stream);
/* Lets the consumer see all that was fed. The feeder calls it at the end of
 * each visit of a ring; it is cheap when nothing was fed. */
void order_flush(struct order_stream *stream);

/* Appends @item to the stream. The feeder; see order_more(). */
static inline void order_feed(struct order_stream *stream,
			      struct order_item item)
{
	if (unlikely(stream->next == stream->end))
		order_more(stream);
	*stream->next++ = item;
}

/* Hands all items whose clock is less than @watermark to the consumer:
 * everything that was recorded before that clock has been fed. Does nothing
 * while another thread hands over. Any thread; never waits. */
void order_release(struct order *order, uint64_t watermark);
/* Hands all items that were flushed to the consumer, and returns when it has
 * them. Waits for other threads: not for drain workers. */
void order_release_all(struct order *order);
/* Between the two calls the consumer is not called, so the caller can read what
 * the consumer keeps. Any thread, for a short time only. */
void order_lock(struct order *order);
void order_unlock(struct order *order);

/* How often items were handed over early, for want of memory. It is counted
 * before the consumer gets them. Any thread. */
uint64_t order_early(struct order *order);

/* --- all orders of the processes of an arena --------------------------------
 */

struct orders {
	struct lock lock;
	struct order **order; /* references */
	uint32_t count, room;
};

void orders_init(struct orders *orders);
/* Gives back all references that are left. Nobody may use @orders any more. */
void orders_destroy(struct orders *orders);
/* Adds @order, with a reference of its own. 0 or -ENOMEM. Any thread. */
int orders_add(struct orders *orders, struct order *order);
/* Removes @order, if it is there, and gives that reference back. Any thread. */
void orders_remove(struct orders *orders, struct order *order);
/* Calls order_release() for each order. Nearly free when there are none. Any
 * thread. */
void orders_release(struct orders *orders, uint64_t watermark);

#endif
