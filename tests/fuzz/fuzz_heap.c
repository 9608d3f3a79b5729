/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_heap - the input is ALLOC and FREE records of hostile threads: pairs of
 * a word and a clock. Bits 4 and 5 of the word select one of four threads. The
 * records pass an order and a heap with little memory. None may be lost, and
 * the sums must be those of the sites.
 */
#include <string.h>

#include "collector/base/budget.h"
#include "collector/heap/heap.h"
#include "collector/replay/heap_feed.h"
#include "shared/compiler.h"
#include "tests/fuzz/fuzz.h"

#define THREADS 4
#define INPUT_RECORDS 16384

static struct heap g_heap;
static uint64_t g_taken;

static void consume(void *context, const struct order_item *items, size_t count)
{
	(void)context;
	g_taken += count;
	for (; count; count--, items++)
		if (items->c & HEAP_ITEM_ALLOC)
			heap_alloc(&g_heap, items->clock, items->a, items->b,
				   (uint32_t)items->c);
		else
			heap_free(&g_heap, items->clock, items->a,
				  (uint32_t)items->c,
				  items->c & HEAP_ITEM_TEMPORARY);
}

static void check_sums(void)
{
	const struct heap_totals *totals = &g_heap.totals;
	struct heap_values sum = { 0 };
	uint32_t i;

	for (i = 0; i < heap_site_count(&g_heap); i++) {
		const struct heap_site *site = heap_get_site(&g_heap, i);

		sum.alloc_objects += site->now.alloc_objects;
		sum.alloc_bytes += site->now.alloc_bytes;
		sum.inuse_objects += site->now.inuse_objects;
		sum.inuse_bytes += site->now.inuse_bytes;
	}
	fuzz_must(!memcmp(&sum, &totals->now, sizeof(sum)),
		  "the sums are not those of the sites");
	fuzz_must(totals->allocs == g_heap.table.count + totals->matched_frees +
					    totals->implied_frees +
					    totals->untracked,
		  "a block is neither live nor freed");
	fuzz_must(totals->peak.inuse_bytes >= totals->now.inuse_bytes,
		  "more than at the peak");
}

static void try_input(const struct record *input, size_t count)
{
	struct budget budget = { .left = 1 << 20 },
		      order_budget = { .left = 1 << 20 };
	struct order_stream *stream[THREADS];
	struct order *order;
	uint64_t last = 0;
	size_t i;

	g_taken = 0;
	fuzz_must(
		!heap_init(&g_heap, &budget, 0, 1) &&
			!order_new(&order_budget, 65536, consume, NULL, &order),
		"no memory");
	for (i = 0; i < THREADS; i++)
		fuzz_must(!order_open(order, &stream[i]), "no stream");
	for (i = 0; i < count; i++) {
		uint64_t word = input[i].word, clock = input[i].clock;
		uint32_t thread = word >> 4 & 3;
		struct heap_feed feed = { .stream = stream[thread],
					  .owner = thread + 1 };
		uint64_t address = record_alloc_address(word);

		address += !address;
		last = MAX(last, clock);
		if (record_kind(word) == RECORD_ALLOC)
			order_feed(
				stream[thread],
				heap_feed_alloc(&feed, clock, address,
						record_alloc_size(word) << 33,
						heap_site(&g_heap, thread + 1,
							  word >> 6 & 63)));
		else
			order_feed(
				stream[thread],
				heap_feed_free(&feed, clock, address, address));
		if (i % 64 == 0) {
			order_flush(stream[thread]);
			order_release(order, last / 2);
		}
	}
	for (i = 0; i < THREADS; i++)
		order_close(&stream[i]);
	order_release_all(order);
	fuzz_must(g_taken == count, "the order lost records");
	check_sums();
	order_put(&order);
	heap_release(&g_heap);
	fuzz_must(budget.left == 1 << 20 && order_budget.left == 1 << 20,
		  "memory was not returned");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct record input[INPUT_RECORDS];
	size_t count = MIN(size / sizeof(*input), (size_t)INPUT_RECORDS);

	memcpy(input, data, count * sizeof(*input));
	try_input(input, count);
	return 0;
}
