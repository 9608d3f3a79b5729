/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_replay - the time that the collector takes to make packets from
 * records, and a number that shows whether the packets have changed.
 *
 * usage: bench_replay FILE [ROUNDS [MIN_NS]]
 *
 * FILE contains records (shared/record.h) from the ring of one thread; the
 * program treats their clocks as ns. Calls shorter than MIN_NS are skipped, as
 * with --min-duration. Prints for each round CPU ns for a record, without and
 * with the index and histograms, and in the compact form; and once bytes,
 * packets and a hash of all bytes and names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collector/base/budget.h"
#include "collector/replay/histograms.h"
#include "collector/replay/replay_inner.h"
#include "collector/trace/index_items.h"
#include "collector/trace/trace_file.h"
#include "shared/compiler.h"
#include "shared/record.h"
#include "tests/tools/saved_cells.h"

#define PIECE 32768 /* as thread_drain() takes them of a ring of 4 MiB */

struct output {
	struct trace_block *block;
	uint64_t bytes, hash;
	uint64_t index_bytes, item_bytes[16], items[16]; /* by kind */
	bool hashes, indexes, histograms, compact;
};

static void add(struct output *output, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	while (size--)
		output->hash = (output->hash ^ *at++) * 0x100000001b3ULL;
}

static struct trace_block *take(void *context)
{
	struct output *output = context;

	return output->block;
}

static void count_items(struct output *output, const struct trace_block *block)
{
	const uint8_t *at = block->index;
	struct index_get items = { .at = at, .end = at + block->index_bytes };
	struct index_get payload;
	uint32_t kind;

	output->index_bytes += block->index_bytes;
	while ((kind = index_get_item(&items, &payload))) {
		output->item_bytes[kind % 16] += (uint64_t)(items.at - at);
		output->items[kind % 16]++;
		at = items.at;
	}
}

static void give(void *context, struct trace_block *block)
{
	struct output *output = context;
	uint32_t i;

	output->bytes += block->bytes;
	count_items(output, block);
	free(block->index);
	block->index = NULL;
	block->index_bytes = 0;
	if (!output->hashes)
		return;
	add(output, block->data, block->bytes);
	for (i = 0; i < block->name_count; i++)
		add(output, &block->names[i].function,
		    sizeof(block->names[i].function));
}

static bool excludes(void *context, uint64_t function)
{
	(void)context;
	(void)function;
	return false;
}

static uint64_t position(void *context)
{
	const struct output *output = context;

	return output->bytes;
}

static size_t unloaded(void *context, uint32_t after, uint32_t upto,
		       struct address_range *out, size_t room)
{
	(void)context;
	(void)after;
	(void)upto;
	(void)out;
	(void)room;
	return 0;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Replays all records once; skips those of other modules. Returns its ns. */
static uint64_t replay_all(struct output *output, const struct record *cells,
			   size_t count, uint64_t min_ns)
{
	const struct replay_sink sink = {
		.take = take,
		.give = give,
		.excludes = excludes,
		.context = output,
		.position = output->indexes ? position : NULL,
		.restart_ns = output->compact ? 1000000000 : 0,
	};
	struct budget budget = { .left = 1ULL << 30 };
	struct histograms *histograms = NULL;
	struct replay replay;
	uint64_t start, ns;
	size_t done = 0;

	if (replay_init(&replay, &sink, 5, cells[0].clock, NULL, NULL,
			&budget) < 0)
		abort();
	if (output->histograms &&
	    histograms_new(unloaded, NULL, &budget, &histograms) < 0)
		abort();
	replay_set_histograms(&replay, histograms);
	replay_set_min_duration(&replay, min_ns);
	start = cpu_ns();
	while (done < count) {
		size_t taken;

		done += replay_run(&replay, cells + done,
				   MIN(count - done, PIECE), INT64_MAX,
				   &taken) != 0;
		done += taken;
	}
	ns = cpu_ns() - start;
	replay_finish(&replay, 0);
	replay_flush(&replay);
	if (output->hashes)
		printf("%llu bytes, %llu packets, %llu spans, %llu repaired, "
		       "hash %016llx\n",
		       (unsigned long long)output->bytes,
		       (unsigned long long)replay.counts.events,
		       (unsigned long long)replay.counts.spans,
		       (unsigned long long)replay.counts.repaired_slices,
		       (unsigned long long)output->hash);
	replay_release(&replay);
	histograms_free(&histograms);
	return ns;
}

int main(int argc, char **argv)
{
	struct output output = { .hash = 0xcbf29ce484222325ULL };
	int rounds = argc > 2 ? atoi(argv[2]) : 7;
	uint64_t min_ns = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	struct record *cells = NULL;
	size_t count = 0;

	if (argc > 1 && argc < 5)
		cells = saved_cells_read(argv[1], &count);
	output.block = calloc(1, sizeof(*output.block));
	if (!cells || !count || !output.block) {
		fprintf(stderr, "usage: bench_replay FILE [ROUNDS [MIN_NS]]\n");
		return 2;
	}
	while (rounds-- > 0) {
		double with[5], compact;

		for (int i = 0; i < 5; i++) {
			output.indexes = i & 1;
			output.histograms = i & 2;
			output.compact = i == 4;
			output.bytes = output.index_bytes = 0;
			with[i] = (double)replay_all(&output, cells, count,
						     min_ns) /
				  (double)count;
		}
		compact = 2 * (double)output.bytes / (double)count;
		printf("%.2f, with the index %.2f, histograms %.2f, both "
		       "%.2f, compact %.2f (%.1f bytes a span)\n",
		       with[0], with[1], with[2], with[3], with[4], compact);
	}
	output.indexes = true;
	output.histograms = output.compact = false;
	output.bytes = output.index_bytes = 0;
	replay_all(&output, cells, count, min_ns);
	printf("index: %.3f %%\n",
	       100 * (double)output.index_bytes / (double)output.bytes);
	for (int i = 0; i < 16; i++)
		if (output.items[i])
			printf("  kind %d: %llu in %llu bytes\n", i,
			       (unsigned long long)output.items[i],
			       (unsigned long long)output.item_bytes[i]);
	output.bytes = 0;
	output.hashes = true;
	replay_all(&output, cells, count, min_ns);
	free(output.block);
	free(cells);
	return 0;
}
