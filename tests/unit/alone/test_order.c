/* SPDX-License-Identifier: Apache-2.0
 *
 * order, compared with a sort of all items: random streams fed in random steps,
 * without memory, and with threads.
 */
#include <pthread.h>

#include "collector/base/budget.h"
#include "collector/replay/order.h"
#include "shared/atomic.h"
#include "tests/suite.h"
#include "tests/unit/no_memory.h"

#define ITEMS_MAX 200000
#define STREAMS_MAX 9

static struct budget g_budget;
static struct order *g_order;
static struct order_item g_got[ITEMS_MAX];
static size_t g_count;

static void take_down(void *context, const struct order_item *items,
		      size_t count)
{
	ck_assert_ptr_eq(context, &g_count);
	ck_assert_uint_le(g_count + count, ITEMS_MAX);
	memcpy(g_got + g_count, items, count * sizeof(*items));
	g_count += count;
}

static void new_order(uint64_t bytes)
{
	g_budget.left = 1 << 26;
	g_count = 0;
	ck_assert_int_eq(
		order_new(&g_budget, bytes, take_down, &g_count, &g_order), 0);
}

static void end_order(void)
{
	order_release_all(g_order);
	order_put(&g_order);
	ck_assert_uint_eq(g_budget.left, 1 << 26);
}

static struct order_item item(uint64_t clock, uint64_t stream, uint64_t n)
{
	return (struct order_item){ .clock = clock, .a = stream, .b = n };
}

/* --- one stream ---------------------------------------------------------- */

FIXTURE(NULL, end_order);

TEST(order_keeps_back_what_is_not_older)
{
	struct order_stream *stream;
	uint64_t i;

	new_order(1 << 20);
	ck_assert_int_eq(order_open(g_order, &stream), 0);
	for (i = 0; i < 1000; i++)
		order_feed(stream, item(i, 0, i));
	order_release(g_order, 10);
	ck_assert_uint_eq(g_count, 10); /* of full chunks only */
	order_flush(stream);
	order_release(g_order, 0);
	ck_assert_uint_eq(g_count, 10);
	order_release(g_order, 900);
	ck_assert_uint_eq(g_count, 900);
	order_close(&stream);
	order_release_all(g_order);
	ck_assert_uint_eq(g_count, 1000);
	for (i = 0; i < 1000; i++)
		ck_assert_uint_eq(g_got[i].b, i);
}

/* A broken program may report any clock. */
TEST(order_ends_with_the_last_clock_there_is)
{
	struct order_stream *stream;
	int i;

	new_order(0);
	ck_assert_int_eq(order_open(g_order, &stream), 0);
	for (i = 0; i < 1000; i++)
		order_feed(stream, item(UINT64_MAX, 0, 0));
	order_close(&stream);
	order_release_all(g_order);
	ck_assert_uint_eq(g_count, 1000);
}

/* --- several ------------------------------------------------------------- */

static int by_clock(const void *a, const void *b)
{
	const struct order_item *x = a, *y = b;

	if (x->clock != y->clock)
		return x->clock < y->clock ? -1 : 1;
	return x->c < y->c ? -1 : x->c > y->c;
}

struct fed {
	struct order_stream *stream;
	uint64_t clock, flushed; /* lower bound of later clocks */
};

static uint64_t watermark_of(const struct fed *fed, int streams)
{
	uint64_t least = UINT64_MAX;
	int i;

	for (i = 0; i < streams; i++)
		if (fed[i].flushed < least)
			least = fed[i].flushed;
	return least;
}

/* Releases by the true watermark. Returns the number of items. */
static size_t feed_randomly(int streams, struct order_item *all)
{
	struct fed fed[STREAMS_MAX] = { { 0 } };
	size_t count = 0;
	int step, n;

	for (n = 0; n < streams; n++)
		ck_assert_int_eq(order_open(g_order, &fed[n].stream), 0);
	for (step = 0; step < 300; step++) {
		struct fed *one = &fed[random() % streams];

		for (n = (int)(random() % 400); n > 0; n--) {
			all[count] =
				item(one->clock, (uint64_t)(one - fed), count);
			all[count].c = (uint64_t)(random() % 3);
			order_feed(one->stream, all[count++]);
			one->clock += (uint64_t)(random() % 4);
			one->clock += 1;
		}
		order_flush(one->stream);
		one->flushed = one->clock;
		order_release(g_order, watermark_of(fed, streams));
	}
	for (n = 0; n < streams; n++)
		order_close(&fed[n].stream);
	return count;
}

TEST(order_is_that_of_clocks, EACH(0, 3 * STREAMS_MAX))
{
	static struct order_item all[ITEMS_MAX];
	size_t count, i;

	srandom((unsigned int)_i);
	new_order(1 << 25);
	count = feed_randomly(1 + _i % STREAMS_MAX, all);
	order_release_all(g_order);
	ck_assert_uint_eq(order_early(g_order), 0);
	ck_assert_uint_eq(g_count, count);
	qsort(all, count, sizeof(*all), by_clock);
	for (i = 0; i < count; i++) {
		ck_assert_uint_eq(g_got[i].clock, all[i].clock);
		ck_assert_uint_eq(g_got[i].c, all[i].c);
	}
}

/* Items may be out of order, but not within a stream. */
TEST(order_loses_nothing_without_memory, EACH(0, 4))
{
	static struct order_item all[ITEMS_MAX];
	uint64_t last[STREAMS_MAX] = { 0 };
	size_t count, i;

	srandom((unsigned int)_i);
	new_order((uint64_t)_i * 8192);
	count = feed_randomly(4, all);
	ck_assert_uint_gt(order_early(g_order), 0);
	order_release_all(g_order);
	ck_assert_uint_eq(g_count, count);
	for (i = 0; i < count; i++) {
		ck_assert_uint_ge(g_got[i].b, last[g_got[i].a]);
		last[g_got[i].a] = g_got[i].b;
	}
}

TEST(order_opens_none_without_budget)
{
	struct order_stream *stream = NULL;

	new_order(1 << 20);
	g_budget.left = 100;
	ck_assert_int_lt(order_open(g_order, &stream), 0);
	ck_assert_ptr_null(stream);
	g_budget.left = 1 << 26;
}

/* An assertion of check would allocate. */
static void count_items(void *context, const struct order_item *items,
			size_t count)
{
	(void)context;
	(void)items;
	g_count += count;
}

/* The consumer allocated for its first turn. Without memory a feeder retried
 * forever, and the last items vanished silently. */
TEST(order_hands_over_without_an_allocation, UNLESS(HAS_ASAN || HAS_TSAN))
{
	struct order_stream *stream;
	uint64_t i;

	g_budget.left = 1 << 26;
	g_count = 0;
	ck_assert_int_eq(order_new(&g_budget, 0, count_items, NULL, &g_order),
			 0);
	ck_assert_int_eq(order_open(g_order, &stream), 0);
	g_blocks = 0;
	for (i = 0; i < 600; i++)
		order_feed(stream, item(i, 0, i));
	order_flush(stream);
	order_release_all(g_order);
	g_blocks = SIZE_MAX;
	ck_assert_uint_eq(g_count, 600);
	order_close(&stream);
}

/* --- threads ------------------------------------------------------------- */

#define FEEDERS 4
#define FEEDS 40000

static uint64_t g_clock;

static void *feed(void *context)
{
	struct order_stream *stream = context;
	uint64_t i;

	for (i = 0; i < FEEDS; i++) {
		/* relaxed: only that each is there once matters */
		uint64_t clock = atom_add_rlx(&g_clock, 1) + 1;

		order_feed(stream, item(clock, (uintptr_t)context, i));
		if (i % 1000 == 999) {
			order_flush(stream);
			order_release(g_order, i);
		}
	}
	order_close(&stream);
	return NULL;
}

TEST(order_of_threads_is_whole, EACH(0, 3))
{
	pthread_t thread[FEEDERS];
	uint64_t sum = 0;
	size_t i;

	g_clock = 0;
	new_order((uint64_t)_i * 100000);
	for (i = 0; i < FEEDERS; i++) {
		struct order_stream *stream;

		ck_assert_int_eq(order_open(g_order, &stream), 0);
		ck_assert_int_eq(pthread_create(&thread[i], NULL, feed, stream),
				 0);
	}
	for (i = 0; i < FEEDERS; i++)
		pthread_join(thread[i], NULL);
	order_release_all(g_order);
	ck_assert_uint_eq(g_count, FEEDERS * FEEDS);
	for (i = 0; i < g_count; i++)
		sum += g_got[i].clock;
	ck_assert_uint_eq(sum, (uint64_t)g_count * (g_count + 1) / 2);
}

TEST(orders_are_released_together)
{
	struct orders orders;
	struct order_stream *stream;

	orders_init(&orders);
	orders_release(&orders, 5);
	new_order(1 << 20);
	ck_assert_int_eq(orders_add(&orders, g_order), 0);
	ck_assert_int_eq(order_open(g_order, &stream), 0);
	order_feed(stream, item(3, 0, 0));
	order_close(&stream);
	orders_release(&orders, 3);
	ck_assert_uint_eq(g_count, 0);
	orders_release(&orders, 4);
	ck_assert_uint_eq(g_count, 1);
	orders_remove(&orders, g_order);
	orders_remove(&orders, g_order);
	ck_assert_uint_eq(orders.count, 0);
	orders_destroy(&orders);
}
