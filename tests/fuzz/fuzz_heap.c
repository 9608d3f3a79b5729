/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_heap FILE... - takes each file for what hostile threads say of blocks:
 * pairs of a word and a clock, as ALLOC and FREE records have them; bits 4 and
 * 5 of the word say which of four threads it is. They go through an order with
 * little memory into a heap with little memory. Nothing may be lost, and the
 * sums must be those of the sites, whatever comes.
 *
 * fuzz_heap -r SEED COUNT does that for COUNT inputs made up from SEED.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/heap/heap.h"
#include "collector/replay/heap_feed.h"
#include "tests/random.h"

#define THREADS 4
#define INPUT_RECORDS 16384

static struct heap g_heap;
static uint64_t g_taken;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_heap: %s\n", what);
	abort();
}

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
	must(!memcmp(&sum, &totals->now, sizeof(sum)),
	     "the sums are not those of the sites");
	must(totals->allocs == g_heap.table.count + totals->matched_frees +
				       totals->implied_frees +
				       totals->untracked,
	     "a block is neither live nor freed");
	must(totals->peak.inuse_bytes >= totals->now.inuse_bytes,
	     "more than at the peak");
}

static void try_input(const struct record *input, size_t count)
{
	struct budget budget = { 1 << 20 }, order_budget = { 1 << 20 };
	struct order_stream *stream[THREADS];
	struct order *order;
	uint64_t last = 0;
	size_t i;

	g_taken = 0;
	must(!heap_init(&g_heap, &budget, 0, 1) &&
		     !order_new(&order_budget, 65536, consume, NULL, &order),
	     "no memory");
	for (i = 0; i < THREADS; i++)
		must(!order_open(order, &stream[i]), "no stream");
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
	must(g_taken == count, "the order has lost some");
	check_sums();
	order_put(&order);
	heap_release(&g_heap);
	must(budget.left == 1 << 20 && order_budget.left == 1 << 20,
	     "memory is not given back");
}

static void try_random(uint64_t seed, uint64_t rounds)
{
	static struct record input[INPUT_RECORDS];
	uint64_t round, state, clock;
	size_t count, i;

	for (round = 0; round < rounds; round++) {
		state = (seed + round) * 0x9e3779b97f4a7c15ULL | 1;
		count = next_random(&state) % INPUT_RECORDS + 1;
		for (i = 0, clock = 1; i < count; i++) {
			uint64_t r = next_random(&state);

			/* Few addresses, or many. */
			clock += r % 1000;
			input[i].word = record_alloc_word(
				r & 1 << 20 ? RECORD_ALLOC : RECORD_FREE,
				8 + 8 * (r >> 32 & (round % 2 ? 63 : 16383)),
				r >> 21 & 1023);
			input[i].clock = r % 97 ? clock : r;
		}
		try_input(input, count);
	}
	printf("fuzz_heap: %llu inputs from seed %llu\n",
	       (unsigned long long)rounds, (unsigned long long)seed);
}

static void try_file(const char *path)
{
	static struct record input[INPUT_RECORDS];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes;

	must(fd >= 0, "cannot open");
	bytes = read(fd, input, sizeof(input));
	close(fd);
	must(bytes >= 0, "cannot read");
	try_input(input, (size_t)bytes / sizeof(input[0]));
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "-r")) {
		try_random(strtoull(argv[2], NULL, 0),
			   strtoull(argv[3], NULL, 0));
		return 0;
	}
	for (int i = 1; i < argc; i++)
		try_file(argv[i]);
	return 0;
}
