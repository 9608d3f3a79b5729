/* SPDX-License-Identifier: Apache-2.0
 *
 * order - a stream is a list of chunks. Its feeder appends to the last chunk
 * without a lock. Then it publishes its position under the order's lock, which
 * it holds for a few instructions.
 *
 * The holder of the consumer's lock reads these marks once. Then it merges the
 * streams up to the marks, without a lock of the feeders. The heads of all
 * streams are in a binary heap. The stream with the least head gives all items
 * that come before every other head, in one piece. With one stream such a piece
 * is a whole chunk. No item is ever copied.
 *
 * Read chunks go to a list of free chunks. When that list is empty and no more
 * chunks may be made, the feeder has all flushed items consumed early, and
 * reuses its own chunk.
 */
#include "collector/replay/order.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/lock.h"
#include "shared/atomic.h"

#define CHUNK_ITEMS 255 /* with the header 8 KiB */
/* The most items that pass while a thread waits for the consumer's lock. */
#define TURN_ITEMS 4096

struct order_chunk {
	struct order_chunk *next;
	uint32_t flushed; /* items that the consumer may read */
	struct order_item item[CHUNK_ITEMS];
};

struct head {
	uint64_t clock, c;
	struct order_stream *stream;
};

struct order {
	uint32_t refs;
	struct budget *budget;
	order_consume *consume;
	void *context;
	uint64_t pending; /* flushed and not consumed; relaxed */
	uint64_t early; /* relaxed */
	uint32_t wanted; /* threads that wait for consuming; relaxed */

	struct lock consuming; /* before lock */
	struct head *heap;
	uint32_t heap_count;
	uint32_t heap_room; /* written under both locks */

	struct lock lock; /* guards the members below */
	struct order_stream **stream;
	uint32_t count, room;
	/* The next heap, if the current one is too small for all streams: a
	 * consumer must not need memory. */
	struct head *next_heap;
	uint32_t next_heap_room;
	struct order_chunk *free;
	uint64_t chunks_left;
};

/* --- chunks -------------------------------------------------------------- */

/* Returns a free chunk or NULL. Under lock. */
static struct order_chunk *take_chunk(struct order *order)
{
	struct order_chunk *chunk = order->free;

	if (chunk) {
		order->free = chunk->next;
	} else {
		if (!order->chunks_left ||
		    !budget_take(order->budget, sizeof(*chunk)))
			return NULL;
		chunk = malloc(sizeof(*chunk));
		if (!chunk) {
			budget_give(order->budget, sizeof(*chunk));
			return NULL;
		}
		order->chunks_left--;
	}
	chunk->next = NULL;
	chunk->flushed = 0;
	return chunk;
}

/* Under lock. */
static void give_chunk(struct order *order, struct order_chunk *chunk)
{
	chunk->next = order->free;
	order->free = chunk;
}

/* --- the feeder ---------------------------------------------------------- */

/* Under lock. */
static void flush_stream(struct order_stream *stream)
{
	struct order_chunk *chunk = stream->last;
	uint32_t count;

	if (!chunk)
		return;
	count = (uint32_t)(stream->next - chunk->item);
	/* relaxed: a hint whether there is anything to do */
	atom_add_rlx(&stream->order->pending, count - chunk->flushed);
	chunk->flushed = count;
}

static void append_chunk(struct order_stream *stream, struct order_chunk *chunk)
{
	if (stream->last)
		stream->last->next = chunk;
	else
		stream->first = chunk;
	stream->last = chunk;
	stream->next = chunk->item;
	stream->end = chunk->item + CHUNK_ITEMS;
}

static int reserve_head(struct order *order)
{
	struct head *heap;

	if (MAX(order->heap_room, order->next_heap_room) > order->count)
		return 0;
	heap = calloc(order->room, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	free(order->next_heap);
	order->next_heap = heap;
	order->next_heap_room = order->room;
	return 0;
}

/* Under both locks. */
static void take_next_heap(struct order *order)
{
	if (!order->next_heap)
		return;
	free(order->heap);
	order->heap = order->next_heap;
	order->heap_room = order->next_heap_room;
	order->next_heap = NULL;
	order->next_heap_room = 0;
}

int order_open(struct order *order, struct order_stream **out)
{
	struct order_stream *stream = calloc(1, sizeof(*stream));
	struct order_chunk *chunk = NULL;

	if (!stream)
		return -ENOMEM;
	stream->order = order;
	lock_acquire(&order->lock);
	if (!grow_array(order->stream, order->room, order->count + 1) &&
	    !reserve_head(order)) {
		/* The limit does not include the first chunk of a stream. */
		order->chunks_left += !order->free;
		chunk = take_chunk(order);
	}
	if (chunk) {
		append_chunk(stream, chunk);
		order->stream[order->count++] = stream;
	}
	lock_release(&order->lock);
	if (!chunk) {
		free(stream);
		return -ENOMEM;
	}
	*out = stream;
	return 0;
}

void order_close(struct order_stream **stream)
{
	struct order_stream *old = *stream;
	struct order *order;

	*stream = NULL;
	if (!old)
		return;
	order = old->order;
	lock_acquire(&order->lock);
	flush_stream(old);
	old->closed = true;
	atom_add_rlx(&order->pending, 1); /* relaxed: as in flush_stream() */
	lock_release(&order->lock);
}

void order_flush(struct order_stream *stream)
{
	struct order *order = stream->order;

	/* The feeder itself flushes, so it can read this without the lock. */
	if (stream->next == stream->last->item + stream->last->flushed)
		return;
	lock_acquire(&order->lock);
	flush_stream(stream);
	lock_release(&order->lock);
}

static void release_items(struct order *order, uint64_t limit);

/* Starts the only chunk again if all of it was read. Under both locks. */
static bool reuse_chunk(struct order_stream *stream)
{
	struct order_chunk *chunk = stream->last;

	if (stream->first != chunk || stream->read < CHUNK_ITEMS)
		return false;
	chunk->flushed = stream->read = stream->stop_count = 0;
	stream->next = chunk->item;
	return true;
}

/* Hands all flushed items to the consumer, in any order. Returns true if that
 * made room in @stream. */
static bool release_items_early(struct order_stream *stream)
{
	struct order *order = stream->order;
	bool room;

	order_lock(order);
	atom_add_rlx(&order->early, 1); /* relaxed: a counter; the lock */
	release_items(order, UINT64_MAX);
	lock_acquire(&order->lock);
	room = reuse_chunk(stream);
	lock_release(&order->lock);
	order_unlock(order);
	return room;
}

void order_more(struct order_stream *stream)
{
	struct order *order = stream->order;
	struct order_chunk *chunk;

	do {
		lock_acquire(&order->lock);
		flush_stream(stream);
		chunk = take_chunk(order);
		if (chunk)
			append_chunk(stream, chunk);
		lock_release(&order->lock);
	} while (!chunk && !release_items_early(stream));
}

/* --- the consumer -------------------------------------------------------- */

static bool is_head_before(const struct head *a, const struct head *b)
{
	return a->clock != b->clock ? a->clock < b->clock : a->c < b->c;
}

static void sift_head_down(struct order *order, uint32_t i)
{
	struct head *heap = order->heap, moved = heap[i];
	uint32_t count = order->heap_count, child;

	while ((child = 2 * i + 1) < count) {
		if (child + 1 < count &&
		    is_head_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_head_before(&heap[child], &moved))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

/* Returns how many items of the chunk that @stream reads may be read. */
static uint32_t readable_items(const struct order_stream *stream)
{
	return stream->first == stream->stop ? stream->stop_count : CHUNK_ITEMS;
}

/* Returns false if there is nothing more to read. */
static bool next_chunk(struct order *order, struct order_stream *stream)
{
	struct order_chunk *old = stream->first;

	if (stream->read < readable_items(stream))
		return true;
	if (old == stream->stop)
		return false;
	stream->first = old->next;
	stream->read = 0;
	lock_acquire(&order->lock);
	give_chunk(order, old);
	lock_release(&order->lock);
	return stream->read < readable_items(stream);
}

static void free_stream(struct order *order, uint32_t index)
{
	struct order_stream *stream = order->stream[index];

	if (stream->first)
		give_chunk(order, stream->first);
	order->stream[index] = order->stream[--order->count];
	/* relaxed: what order_close() added */
	atom_add_rlx(&order->pending, -1ULL);
	free(stream);
}

/* Notes how far each stream may be read, and puts its head into the heap. Under
 * consuming. */
static void note_marks(struct order *order, uint64_t limit)
{
	order->heap_count = 0;
	lock_acquire(&order->lock);
	take_next_heap(order);
	for (uint32_t i = order->count; i-- > 0;) {
		struct order_stream *stream = order->stream[i];
		const struct order_item *item;

		stream->stop = stream->last;
		stream->stop_count = stream->last ? stream->last->flushed : 0;
		if (!stream->first)
			continue;
		if (stream->read == CHUNK_ITEMS && stream->first->next) {
			struct order_chunk *old = stream->first;

			stream->first = old->next;
			stream->read = 0;
			give_chunk(order, old);
		}
		if (stream->read == readable_items(stream)) {
			if (stream->closed)
				free_stream(order, i);
			continue;
		}
		item = &stream->first->item[stream->read];
		if (item->clock <= limit)
			order->heap[order->heap_count++] =
				(struct head){ item->clock, item->c, stream };
	}
	lock_release(&order->lock);
}

static void drop_first_head(struct order *order)
{
	order->heap[0] = order->heap[--order->heap_count];
	sift_head_down(order, 0);
}

/* Returns the number of contiguous items of @stream that come before @other
 * (NULL: none) and are no later than @limit. */
static uint32_t run_before_head(const struct order_stream *stream,
				const struct head *other, uint64_t limit)
{
	const struct order_item *first = &stream->first->item[stream->read];
	const struct order_item *item = first;
	const struct order_item *stop =
		stream->first->item + readable_items(stream);

	if (!other) {
		while (item < stop && item->clock <= limit)
			item++;
		return (uint32_t)(item - first);
	}
	for (item++; item < stop && item->clock <= limit; item++)
		if (item->clock > other->clock ||
		    (item->clock == other->clock && item->c > other->c))
			break;
	return (uint32_t)(item - first);
}

static const struct head *second_head(const struct order *order)
{
	const struct head *heap = order->heap;

	if (order->heap_count < 2)
		return NULL;
	if (order->heap_count == 2 || is_head_before(&heap[1], &heap[2]))
		return &heap[1];
	return &heap[2];
}

static void merge_streams(struct order *order, uint64_t limit)
{
	uint64_t done = 0;

	for (uint64_t i = order->heap_count / 2; i-- > 0;)
		sift_head_down(order, (uint32_t)i);
	while (order->heap_count) {
		struct order_stream *stream = order->heap[0].stream;
		const struct order_item *item =
			&stream->first->item[stream->read];
		uint32_t count =
			run_before_head(stream, second_head(order), limit);

		order->consume(order->context, item, count);
		stream->read += count;
		done += count;
		if (!next_chunk(order, stream)) {
			drop_first_head(order);
		} else {
			item = &stream->first->item[stream->read];
			if (item->clock > limit) {
				drop_first_head(order);
			} else {
				order->heap[0].clock = item->clock;
				order->heap[0].c = item->c;
				sift_head_down(order, 0);
			}
		}
		/* relaxed: a hint */
		if (done >= TURN_ITEMS && atom_load_rlx(&order->wanted))
			break;
	}
	/* relaxed: as in flush_stream() */
	atom_add_rlx(&order->pending, -done);
}

/* Under consuming. */
static void release_items(struct order *order, uint64_t limit)
{
	note_marks(order, limit);
	merge_streams(order, limit);
}

void order_release(struct order *order, uint64_t watermark)
{
	/* relaxed: an item missed now is released after the next pass */
	if (!watermark || !atom_load_rlx(&order->pending) ||
	    !lock_try(&order->consuming))
		return;
	release_items(order, watermark - 1);
	lock_release(&order->consuming);
}

void order_release_all(struct order *order)
{
	order_lock(order);
	do
		release_items(order, UINT64_MAX);
	while (order->heap_count);
	note_marks(order, 0);
	order->heap_count = 0;
	order_unlock(order);
}

void order_lock(struct order *order)
{
	/* relaxed, both: a hint */
	atom_add_rlx(&order->wanted, 1);
	lock_acquire(&order->consuming);
	atom_add_rlx(&order->wanted, -1u);
}

void order_unlock(struct order *order)
{
	lock_release(&order->consuming);
}

uint64_t order_early(struct order *order)
{
	/* relaxed: a counter */
	return atom_load_rlx(&order->early);
}

/* --- life ---------------------------------------------------------------- */

int order_new(struct budget *budget, uint64_t bytes, order_consume *consume,
	      void *context, struct order **out)
{
	struct order *order = calloc(1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	*order = (struct order){
		.refs = 1,
		.budget = budget,
		.consume = consume,
		.context = context,
		.chunks_left = bytes / sizeof(struct order_chunk),
	};
	lock_init(&order->consuming, LOCK_ORDER_CONSUMING);
	lock_init(&order->lock, LOCK_ORDER);
	*out = order;
	return 0;
}

struct order *order_get(struct order *order)
{
	/* relaxed: the caller has a reference */
	atom_add_rlx(&order->refs, 1);
	return order;
}

static void free_chunks(struct order *order, struct order_chunk *chunk)
{
	struct order_chunk *next;

	for (; chunk; chunk = next) {
		next = chunk->next;
		budget_give(order->budget, sizeof(*chunk));
		free(chunk);
	}
}

void order_put(struct order **order)
{
	struct order *old = *order;

	*order = NULL;
	/* order: sc, REFS: all uses of it come before its end */
	if (!old || atom_add_sc(&old->refs, -1u) != 1)
		return;
	for (uint32_t i = 0; i < old->count; i++) {
		free_chunks(old, old->stream[i]->first);
		free(old->stream[i]);
	}
	free_chunks(old, old->free);
	lock_destroy(&old->consuming);
	lock_destroy(&old->lock);
	free(old->heap);
	free(old->next_heap);
	free(old->stream);
	free(old);
}

/* --- orders -------------------------------------------------------------- */

void orders_init(struct orders *orders)
{
	*orders = (struct orders){ 0 };
	lock_init(&orders->lock, LOCK_ORDERS);
}

void orders_destroy(struct orders *orders)
{
	while (orders->count)
		order_put(&orders->order[--orders->count]);
	free(orders->order);
	lock_destroy(&orders->lock);
}

int orders_add(struct orders *orders, struct order *order)
{
	int err;

	lock_acquire(&orders->lock);
	err = grow_array(orders->order, orders->room, orders->count + 1);
	if (!err) {
		orders->order[orders->count] = order_get(order);
		/* relaxed: see orders_release() */
		atom_store_rlx(&orders->count, orders->count + 1);
	}
	lock_release(&orders->lock);
	return err;
}

void orders_remove(struct orders *orders, struct order *order)
{
	uint32_t i;

	lock_acquire(&orders->lock);
	for (i = 0; i < orders->count && orders->order[i] != order; i++)
		;
	if (i == orders->count)
		order = NULL;
	if (order) {
		/* relaxed: see orders_release() */
		atom_store_rlx(&orders->count, orders->count - 1);
		orders->order[i] = orders->order[orders->count];
	}
	if (!orders->count) {
		free(orders->order);
		orders->order = NULL;
		orders->room = 0;
	}
	lock_release(&orders->lock);
	order_put(&order);
}

void orders_release(struct orders *orders, uint64_t limit)
{
	struct order *order;

	/* relaxed: an order missed now is released after the next pass, also if
	 * it moves when another is removed */
	for (uint32_t i = 0; i < atom_load_rlx(&orders->count); i++) {
		lock_acquire(&orders->lock);
		order = i < orders->count ? order_get(orders->order[i]) : NULL;
		lock_release(&orders->lock);
		if (!order)
			break;
		order_release(order, limit);
		order_put(&order);
	}
}
