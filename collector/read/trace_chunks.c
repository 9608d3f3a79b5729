/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_chunks - adds the sums of skipped chunks, from the index, to nodes.
 *
 * A row has the time of a node with its callees within the chunk. So the time
 * is added to the node and subtracted from its caller.
 *
 * A row counts the calls that ended, but sums count the calls that began or
 * were open at FROM. So for successive chunks, calls still open behind the last
 * one are added, and calls that began before the first one are subtracted.
 */
#include <errno.h>
#include <stdlib.h>

#include "collector/read/trace_index.h"
#include "collector/read/trace_sums_inner.h"
#include "shared/compiler.h"

struct chunks {
	struct trace_sums *sums;
	struct skipped_chunks skipped;
	uint32_t thread, root; /* 0: not met yet */
	uint32_t *nodes; /* node of sums by node of the index; 0: not looked up
			  * yet */
	struct index_buffer rows;
};

/* Returns 0 without room. Sums of events that are read count a thread from its
 * first call or wait on; a thread with instants alone does not count here
 * either. */
static uint32_t meet_root(struct chunks *chunks)
{
	if (!chunks->thread)
		chunks->thread =
			trace_sums_thread(chunks->sums, chunks->skipped.track);
	if (!chunks->root && chunks->thread)
		chunks->root = trace_sums_root(chunks->sums, chunks->thread);
	return chunks->root;
}

/* Returns the node of sums for node @number of the index. Returns 0 without
 * room, or if its callers are damaged. */
static uint32_t node_of(struct chunks *chunks, uint32_t number)
{
	const struct index_sequence *sequence = chunks->skipped.sequence;
	uint32_t path[INDEX_PATH_MOST], top, node;
	uint32_t depth =
		index_node_path(sequence, number, chunks->nodes, path, &top);

	if (depth == INDEX_PATH_MOST)
		return 0;
	node = top ? chunks->nodes[top] : meet_root(chunks);
	while (depth && node) {
		uint32_t at = path[--depth];

		node = trace_sums_child(
			chunks->sums, node,
			trace_reader_name(chunks->sums->reader, sequence->id,
					  sequence->nodes[at].iid));
		chunks->nodes[at] = node;
	}
	return node;
}

/* Adds @calls, modulo 2^64, to @node. */
static void count_calls(struct chunks *chunks, uint32_t node, uint64_t calls)
{
	struct trace_sums *sums = chunks->sums;

	sums->spans += calls;
	if (!node) {
		sums->folded += calls;
		return;
	}
	trace_sums_at(sums, node)->calls += calls;
	sums->threads[chunks->thread].spans += calls;
}

static void take_off(struct chunks *chunks, uint32_t caller, uint64_t ns)
{
	if (caller && caller != chunks->root)
		trace_sums_at(chunks->sums, caller)->self_ns -= ns;
}

static void add_row(struct chunks *chunks, const struct index_row *row)
{
	const struct index_node *item =
		&chunks->skipped.sequence->nodes[row->node];
	struct trace_sums *sums = chunks->sums;
	uint32_t node;

	if (!item->iid) {
		sums->waits += row->calls;
		sums->wait_ns += row->total_ns;
		/* A wait counts as a callee: it is not self time of the
		 * caller. */
		take_off(chunks, node_of(chunks, item->parent), row->total_ns);
		return;
	}
	node = node_of(chunks, row->node);
	count_calls(chunks, node, row->calls);
	if (!node)
		return;
	trace_sums_at(sums, node)->self_ns += row->total_ns;
	trace_sums_at(sums, node)->longest_ns =
		MAX(trace_sums_at(sums, node)->longest_ns, row->longest_ns);
	take_off(chunks, trace_sums_at(sums, node)->parent, row->total_ns);
}

/* Adds @calls to each slice open at the start of chunk @number. */
static int count_open(struct chunks *chunks, uint32_t number, uint64_t calls)
{
	const struct index_sequence *sequence = chunks->skipped.sequence;
	struct index_stack stack;
	int err = index_chunk_stack(sequence, number, &stack);

	for (uint32_t i = 0; i < stack.count; i++)
		count_calls(chunks, node_of(chunks, stack.slices[i].node),
			    calls);
	free(stack.slices);
	return err;
}

static int add_skipped(struct chunks *chunks)
{
	const struct trace_index *index = window_index(chunks->sums->window);
	const struct skipped_chunks *skipped = &chunks->skipped;
	int err = count_open(chunks, skipped->first, UINT64_MAX);

	for (uint32_t i = skipped->first; i <= skipped->last && !err; i++) {
		const struct index_chunk *chunk = &skipped->sequence->chunks[i];
		struct index_get rows =
			index_load(index, chunk->rows, &chunks->rows);
		struct index_row row;
		int64_t node = 0;

		err = rows.bad ? -EIO : 0;
		for (uint64_t left = chunk->row_count;
		     left &&
		     index_row_next(skipped->sequence, &rows, &node, &row);
		     left--)
			add_row(chunks, &row);
		chunks->sums->lost += chunk->lost;
		chunks->sums->paused += chunk->paused;
	}
	return err ?: count_open(chunks, skipped->last + 1, 1);
}

static int add_sequence(struct trace_sums *sums,
			const struct skipped_chunks *skipped)
{
	struct chunks chunks = { .sums = sums, .skipped = *skipped };
	int err;

	if (!window_gives_track(sums->window, skipped->track))
		return 0;
	chunks.nodes = calloc(skipped->sequence->node_count + 1,
			      sizeof(*chunks.nodes));
	if (!chunks.nodes)
		return -ENOMEM;
	err = add_skipped(&chunks);
	free(chunks.rows.at);
	free(chunks.nodes);
	return err;
}

int trace_chunks_add(struct trace_sums *sums)
{
	const struct trace_index *index = window_index(sums->window);
	struct skipped_chunks skipped;
	int err = 0;

	for (uint32_t i = 0; index && i < index->sequence_count && !err; i++)
		if (trace_reader_skipped(sums->reader, i, &skipped))
			err = add_sequence(sums, &skipped);
	return err;
}
