/* SPDX-License-Identifier: Apache-2.0
 *
 * order - what many threads of a program recorded, in the order of their raw
 * clocks. Each thread has a stream, which its drain worker feeds; when all
 * workers have looked at all rings since a moment, what is older than that
 * moment is given to a consumer, oldest first.
 *
 * The order is as good as the clocks, with three exceptions that a consumer
 * must bear: an item of a stream whose clock is before that of the item fed
 * before it follows that one at once; an item that was fed later than the
 * watermark that it is older than comes late; and when the budget is used up,
 * all that was fed goes to the consumer as it is (order_early() counts that).
 *
 * Nothing is ever lost, and a worker waits for another one only when memory
 * is used up, then for the time of some thousand items.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_ORDER_H
#define PERFREC_COLLECTOR_REPLAY_ORDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Takes over @count items; called by one thread at a time, never for two
 * streams at once. May not feed the same order. */
typedef void order_consume(void *context, const struct order_item *items,
			   size_t count);

/* @bytes: the most it uses, of @budget, which must outlive it. 0 or -ENOMEM.
 * The caller has a reference. */
int order_new(struct budget *budget, uint64_t bytes, order_consume *consume,
	      void *context, struct order **out);
struct order *order_get(struct order *order);
/* Any thread. With the last one all streams must be closed and released. */
void order_put(struct order **order);

/* A new stream. 0 or -ENOMEM. Any thread. */
int order_open(struct order *order, struct order_stream **out);
/* The feeder's last call: what it fed is released in its time. */
void order_close(struct order_stream **stream);
/* Makes room at stream->next; may call the consumer. The feeder. */
void order_more(struct order_stream *stream);
/* Let the consumer see all that was fed: at the end of each visit of a ring.
 * The feeder; cheap when nothing was fed. */
void order_flush(struct order_stream *stream);

static inline void order_feed(struct order_stream *stream,
			      struct order_item item)
{
	if (unlikely(stream->next == stream->end))
		order_more(stream);
	*stream->next++ = item;
}

/* Give the consumer all that is older than @watermark, a clock such that
 * whatever was recorded before it has been fed. Does nothing while another
 * thread is at it. Any thread. */
void order_release(struct order *order, uint64_t watermark);
/* Give it all that was flushed, and return when it has it. No drain worker. */
void order_release_all(struct order *order);
/* Hold up the consumer, so that what it keeps can be read. Any thread that
 * does so for a short time only. */
void order_lock(struct order *order);
void order_unlock(struct order *order);

/* Times that items were released early, counted before the consumer gets any.
 * Any thread. */
uint64_t order_early(struct order *order);

/* --- all orders of the processes of an arena --------------------------------
 */

struct orders {
	pthread_mutex_t lock;
	struct order **order; /* references */
	uint32_t count, room;
};

void orders_init(struct orders *orders);
void orders_destroy(struct orders *orders);
/* Any thread. 0 or -ENOMEM. */
int orders_add(struct orders *orders, struct order *order);
void orders_remove(struct orders *orders, struct order *order);
/* order_release() of all. Nearly free when there are none. */
void orders_release(struct orders *orders, uint64_t watermark);

#endif
