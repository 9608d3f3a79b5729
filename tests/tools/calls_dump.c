/* SPDX-License-Identifier: Apache-2.0
 *
 * calls_dump - what a page is made of (read/calls.h), so that two ways of
 *making it can be compared.
 *
 * usage: calls_dump TRACE FROM TO [fold]	ns of CLOCK_BOOTTIME; 0 0: all;
 *					fold: stacks that have little
 *
 * By the index, if there is one. Lines are
 *
 *	index YES			1: it was made by the index
 *	sum UUID CALLS NS STACK		of a thread's stack, outermost first
 *	gap KIND CALLS			that were not recorded
 *	call LEVEL UUID DEPTH BEGIN END COUNT NAME	of the timeline
 *	beyond CALLS			that the timeline is without
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/read/calls.h"
#include "collector/read/trace_index.h"

static void show_stack(const struct calls *calls, uint32_t number)
{
	const struct call_node *node = call_tree_node(&calls->tree, number);

	if (!number)
		return;
	show_stack(calls, node->parent);
	printf(";%s", trace_reader_text(calls->tree.reader, node->name));
}

static uint64_t uuid_of(const struct calls *calls, uint32_t thread)
{
	return thread ? calls->tree.threads[thread].track->uuid : 0;
}

static void show_sum(const struct calls *calls, uint32_t thread, uint32_t node,
		     const struct time_amount *sum)
{
	if (!sum->ns && !sum->calls)
		return;
	printf("sum %016" PRIx64 " %" PRIu64 " %" PRIu64 " ",
	       uuid_of(calls, thread), sum->calls, sum->ns);
	show_stack(calls, node);
	putchar('\n');
}

static int show_sums(const struct calls *calls)
{
	struct time_amount *sums = calloc((size_t)calls->tree.nodes.count *
						  calls->tree.thread_count,
					  sizeof(*sums));

	if (!sums)
		return 1;
	for (uint32_t i = 0; i < calls->cells.count; i++) {
		const struct time_cell *cell = &calls->cells.cells[i];
		size_t at = (size_t)time_cells_thread(cell) *
				    calls->tree.nodes.count +
			    time_cells_node(cell);

		sums[at].ns += cell->ns;
		sums[at].calls += cell->calls;
	}
	for (uint32_t i = 0; i < calls->tree.thread_count; i++)
		for (uint32_t j = 0; j < calls->tree.nodes.count; j++)
			show_sum(
				calls, i, j,
				&sums[(size_t)i * calls->tree.nodes.count + j]);
	free(sums);
	return 0;
}

static void show_gaps(const struct calls *calls)
{
	uint64_t sums[TIME_GAP_KINDS] = { 0 };

	for (uint32_t i = 0; i < calls->gaps.count; i++)
		sums[time_cells_node(&calls->gaps.cells[i]) - 1] +=
			calls->gaps.cells[i].calls;
	for (int i = 0; i < TIME_GAP_KINDS; i++)
		printf("gap %d %" PRIu64 "\n", i, sums[i]);
}

static void show_level(const struct calls *calls, int number)
{
	const struct timeline_level *level = &calls->timeline.level[number];

	for (uint32_t i = 0; i < level->count; i++) {
		const struct timeline_call *call = &level->calls[i];

		printf("call %d %016" PRIx64 " %u %" PRIu64 " %" PRIu64
		       " %u %s\n",
		       number, uuid_of(calls, call->thread), call->depth,
		       call->begin_ns, call->begin_ns + call->duration_ns,
		       call->count,
		       trace_reader_text(calls->tree.reader, call->name));
	}
}

int main(int argc, char **argv)
{
	struct calls_choice choice = { 0 };
	struct trace_index *index = NULL;
	struct calls *calls = NULL;
	int err;

	if (argc < 4 || argc > 5) {
		fprintf(stderr, "usage: calls_dump TRACE FROM TO [fold]\n");
		return 2;
	}
	choice.range.from_ns = strtoull(argv[2], NULL, 10);
	choice.range.to_ns = strtoull(argv[3], NULL, 10) ?: UINT64_MAX;
	trace_index_read_beside(argv[1], &index);
	choice.index = index;
	choice.folds = argc == 5;
	err = calls_read(argv[1], &choice, NULL, &calls);
	if (err) {
		fprintf(stderr, "calls_dump: %d\n", err);
		return 1;
	}
	printf("index %d\n", calls->summed);
	err = show_sums(calls);
	show_gaps(calls);
	for (int i = 0; i < TIMELINE_LEVELS; i++)
		show_level(calls, i);
	printf("beyond %" PRIu64 "\n", calls->beyond + calls->timeline.refused);
	calls_free(&calls);
	trace_index_free(&index);
	return err;
}
