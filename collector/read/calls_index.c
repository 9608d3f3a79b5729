/* SPDX-License-Identifier: Apache-2.0
 *
 * calls_index - adds skipped chunks to calls by their sums in the index. Chunks
 * in the same bucket are summed before they go to the cells.
 *
 * Most of the many stacks of a large program have almost no time. If the caller
 * wants them folded, a few chunks are sampled first: a small stack shares one
 * cell with all its callees.
 *
 * Each sequence uses its finest level of detail that is short enough for the
 * timeline. Blocks that also cover chunks that are read, and missing blocks,
 * are replaced by blocks of the level below.
 */
#include <errno.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/read/calls_inner.h"
#include "collector/read/trace_index.h"
#include "collector/trace/index_cells.h"
#include "shared/compiler.h"

/* Limit of the bytes of cells to read, over all sequences. A cell has about 7
 * bytes, so this gives more cells than the timeline has calls. */
#define CELL_BYTES_MOST (2u << 20)
/* Number of chunks of a sequence to sample for small stacks. A small stack has
 * less than 1 / LITTLE of the time and of the calls. */
#define CHUNKS_LOOKED_AT 64u
#define LITTLE 2000u
/* The same for tiny stacks. */
#define NOTHING 50000u

struct added {
	struct calls *calls;
	struct chunk_sums sums; /* of chunks that are not in the cells yet */
	uint64_t from_ns, to_ns; /* time of these chunks */
	uint32_t thread;
	struct index_buffer buffer; /* current cells */
	bool unread;
};

/* --- chunks --- */

static void flush_sums(struct added *added)
{
	struct calls *calls = added->calls;

	for (uint32_t i = 0; i < added->sums.touched_count; i++) {
		struct chunk_sum sum;
		uint32_t node = chunk_sums_take(&added->sums, i, &sum);
		const struct time_amount amount = { sum.ns, sum.is_call
								    ? sum.calls
								    : 0 };

		if (node && (amount.ns || amount.calls))
			time_cells_spread(&calls->cells, added->thread,
					  calls_cells_of(calls, node),
					  added->from_ns, added->to_ns,
					  &amount);
		calls->tree.folded += node ? 0 : sum.calls;
	}
	added->sums.touched_count = 0;
}

static int add_chunks(struct added *added)
{
	const struct skipped_chunks *skipped = &added->sums.skipped;
	int err = 0;

	for (uint32_t i = skipped->first; i <= skipped->last && !err; i++) {
		const struct index_chunk *chunk = &skipped->sequence->chunks[i];
		unsigned int shift = added->calls->cells.shift;
		uint64_t bucket = chunk->start_ns >> shift;

		if (added->from_ns >> shift != bucket ||
		    chunk->end_ns >> shift != bucket)
			flush_sums(added);
		if (!added->sums.touched_count)
			added->from_ns = chunk->start_ns;
		added->to_ns = chunk->end_ns;
		err = chunk_sums_add(&added->sums, i, i);
		if (chunk->end_ns >> shift != bucket)
			flush_sums(added);
	}
	flush_sums(added);
	return err;
}

/* --- levels of detail --- */

/* Adds calls that are missing between the bucket of @cell and the next cell. */
static void add_missing(struct added *added, struct time_gap *gap,
			const struct index_cell *cell, unsigned int shift)
{
	uint64_t ns = cell->bucket << shift;

	time_gap_end(gap, &added->calls->gaps, ns);
	if (cell->calls)
		time_gap_add(gap, TIME_GAP_LOST, cell->calls, ns);
	if (cell->total_ns)
		time_gap_add(gap, TIME_GAP_PAUSED, cell->total_ns, ns);
}

static void add_cell(struct added *added, const struct index_cell *cell)
{
	const struct index_sequence *sequence = added->sums.skipped.sequence;
	struct timeline_call call = {
		.thread = added->thread,
		.depth = cell->row - 1U,
		.begin_ns = MAX(cell->begin_ns, added->calls->range.from_ns),
		.count = (uint32_t)MIN(cell->calls, UINT32_MAX),
	};
	uint64_t end_ns = cell->begin_ns + cell->longest_ns;
	struct slow_call *slow;

	if (cell->number >= sequence->node_count || end_ns < call.begin_ns)
		return;
	call.duration_ns = end_ns - call.begin_ns;
	call.name = trace_reader_name(added->calls->tree.reader, sequence->id,
				      sequence->nodes[cell->number].iid);
	timeline_take(&added->calls->timeline, &call);
	if (call.begin_ns > cell->begin_ns)
		return;
	slow = slowest_add(&added->calls->slowest, call.name, call.begin_ns,
			   call.duration_ns);
	if (slow) {
		slow->thread = call.thread;
		slow->depth = call.depth;
	}
}

static void add_block(struct added *added, const struct index_block *block)
{
	struct index_get cells =
		index_load(window_index(added->calls->tree.window),
			   block->cells, &added->buffer);
	struct index_cell_take take;
	struct time_gap gap = { 0 };
	struct index_cell cell;

	added->unread |= cells.bad;
	index_cell_take(&take, cells, block->shift, block->start_ns);
	while (index_cell_next(&take, &cell)) {
		if (!cell.row) {
			add_missing(added, &gap, &cell, block->shift);
			continue;
		}
		if (cell.bucket << block->shift > gap.from_ns)
			time_gap_end(&gap, &added->calls->gaps,
				     cell.bucket << block->shift);
		add_cell(added, &cell);
	}
	time_gap_end(&gap, &added->calls->gaps, block->end_ns);
	added->calls->beyond += block->beyond_calls;
}

/* The skipped chunks, as numbers of the index. */
static uint64_t first_number(const struct skipped_chunks *skipped)
{
	return skipped->sequence->chunks[skipped->first].number;
}

static uint64_t last_number(const struct skipped_chunks *skipped)
{
	return skipped->sequence->chunks[skipped->last].number;
}

/* Returns the place of the first block of @level whose first chunk is @from or
 * later. */
static uint32_t find_blocks(const struct index_sequence *sequence,
			    unsigned int level, uint64_t from)
{
	const struct index_block *blocks = sequence->blocks;

	return search_first(i, sequence->block_count,
			    blocks[i].level == level
				    ? blocks[i].first_chunk >= from
				    : blocks[i].level > level);
}

/* Returns the next block of @level from *@at on that has only skipped chunks
 * and starts at or before chunk @to. Returns NULL if there is none. */
static const struct index_block *next_block(
	const struct skipped_chunks *skipped, uint32_t *at, unsigned int level,
	uint64_t to)
{
	const struct index_sequence *sequence = skipped->sequence;

	for (; *at < sequence->block_count; ++*at) {
		const struct index_block *block = &sequence->blocks[*at];

		if (block->level != level || block->first_chunk > to)
			return NULL;
		if (block->first_chunk >= first_number(skipped) &&
		    block->last_chunk <= last_number(skipped))
			return block;
	}
	return NULL;
}

/* Adds the chunks from @from to @to by blocks of @level, and fills gaps with
 * blocks of lower levels. */
static void add_levels(struct added *added, unsigned int level, uint64_t from,
		       uint64_t to)
{
	uint32_t at = find_blocks(added->sums.skipped.sequence, level, from);
	const struct index_block *block;

	for (; (block = next_block(&added->sums.skipped, &at, level, to));
	     at++) {
		/* Damage: the block overlaps chunks already added, or
		 * others. */
		if (block->first_chunk < from || block->last_chunk > to)
			continue;
		if (level && block->first_chunk > from)
			add_levels(added, level - 1, from,
				   block->first_chunk - 1);
		add_block(added, block);
		from = block->last_chunk + 1;
	}
	if (level && from <= to)
		add_levels(added, level - 1, from, to);
}

static uint64_t level_bytes(const struct skipped_chunks *skipped,
			    unsigned int level)
{
	uint32_t at =
		find_blocks(skipped->sequence, level, first_number(skipped));
	const struct index_block *block;
	uint64_t bytes = 0;

	for (; (block = next_block(skipped, &at, level, last_number(skipped)));
	     at++)
		bytes += block->cells.bytes;
	return bytes;
}

/* Returns the finest level of @skipped with at most @most bytes, or the highest
 * level that exists. Sets *@bytes to its size. */
static unsigned int find_level(const struct skipped_chunks *skipped,
			       uint64_t most, uint64_t *bytes)
{
	unsigned int level = 0;

	for (*bytes = level_bytes(skipped, 0);
	     *bytes > most && level + 1 < INDEX_CELL_LEVELS; level++) {
		uint64_t next = level_bytes(skipped, level + 1);

		if (!next)
			break;
		*bytes = next;
	}
	return level;
}

/* --- sequences --- */

/* Returns a limit of bytes per sequence that keeps the sum within
 * CELL_BYTES_MOST. */
static uint64_t find_most_bytes(struct calls *calls)
{
	uint32_t count = window_index(calls->tree.window)->sequence_count;
	uint64_t most = CELL_BYTES_MOST, sum;

	for (;; most /= 2) {
		sum = 0;
		for (uint32_t i = 0; i < count; i++) {
			struct skipped_chunks skipped;
			uint64_t bytes;

			if (!call_tree_skipped(&calls->tree, i, &skipped))
				continue;
			find_level(&skipped, most, &bytes);
			sum += bytes;
		}
		if (sum <= CELL_BYTES_MOST || !most)
			return most;
	}
}

/* Extends the times of the thread's track by its skipped chunks. */
static void note_times(struct added *added)
{
	const struct skipped_chunks *skipped = &added->sums.skipped;
	const struct index_chunk *chunks = skipped->sequence->chunks;
	struct trace_track *track = trace_reader_track(
		added->calls->tree.reader, skipped->track->number);
	uint64_t first_ns = chunks[skipped->first].start_ns;

	/* Earlier events are read, and set first_ns. */
	if (!skipped->first)
		track->first_ns = first_ns;
	track->last_ns = MAX(track->last_ns, chunks[skipped->last].end_ns);
}

static int add_sequence(struct calls *calls,
			const struct skipped_chunks *skipped, uint64_t most)
{
	struct added added = {
		.calls = calls,
		.thread = call_tree_thread(&calls->tree, skipped->track),
	};
	uint64_t bytes;
	int err = chunk_sums_begin(&added.sums, &calls->tree, skipped);

	if (!added.thread)
		err = -ENOMEM;
	if (!err) {
		note_times(&added);
		err = add_chunks(&added);
		add_levels(&added, find_level(skipped, most, &bytes),
			   first_number(skipped), last_number(skipped));
		err = err ?: added.unread ? -EIO : 0;
	}
	chunk_sums_end(&added.sums);
	free(added.buffer.at);
	return err;
}

/* --- stacks that have little --- */

struct looked {
	struct time_amount *nodes;
	uint32_t room;
};

static int look_at_sums(struct chunk_sums *sums, struct looked *looked)
{
	for (uint32_t i = 0; i < sums->touched_count; i++) {
		struct chunk_sum sum;
		uint32_t node = chunk_sums_take(sums, i, &sum);

		if (grow_array_zeroed(looked->nodes, looked->room,
				      (size_t)node + 1))
			return -ENOMEM;
		looked->nodes[node].ns += sum.ns;
		looked->nodes[node].calls += sum.is_call ? sum.calls : 0;
	}
	return 0;
}

static int look_at(struct calls *calls, const struct skipped_chunks *skipped,
		   struct looked *looked)
{
	uint32_t count = skipped->last - skipped->first + 1;
	struct chunk_sums sums;
	int err = chunk_sums_begin(&sums, &calls->tree, skipped);

	for (uint32_t i = skipped->first; i <= skipped->last && !err;
	     i += MAX(count / CHUNKS_LOOKED_AT, 1u))
		err = chunk_sums_add(&sums, i, i);
	if (!err)
		err = look_at_sums(&sums, looked);
	chunk_sums_end(&sums);
	return err;
}

static bool has_less(const struct time_amount *amount,
		     const struct time_amount *all, uint64_t part)
{
	return amount->ns < all->ns / part && amount->calls < all->calls / part;
}

/* Folds a small stack into its outermost small caller. If that is tiny, folds
 * it into its own caller. */
static int fold_little(struct calls *calls, struct looked *looked)
{
	uint32_t count = calls->tree.nodes.count;
	struct time_amount *nodes;

	if (grow_array_zeroed(looked->nodes, looked->room, count))
		return -ENOMEM;
	calls->folded_to = calloc(count, sizeof(*calls->folded_to));
	if (!calls->folded_to)
		return -ENOMEM;
	nodes = looked->nodes;
	/* Callers have lower numbers than callees. */
	for (uint32_t i = count; i-- > 1;) {
		uint32_t parent = call_tree_node(&calls->tree, i)->parent;

		nodes[parent].ns += nodes[i].ns;
		nodes[parent].calls += nodes[i].calls;
	}
	for (uint32_t i = 1; i < count; i++) {
		uint32_t parent = call_tree_node(&calls->tree, i)->parent;

		if (calls->folded_to[parent])
			calls->folded_to[i] = calls->folded_to[parent];
		else if (parent && has_less(&nodes[i], &nodes[0], NOTHING))
			calls->folded_to[i] = parent;
		else if (has_less(&nodes[i], &nodes[0], LITTLE))
			calls->folded_to[i] = i;
	}
	calls->folded_count = count;
	return 0;
}

static int find_little(struct calls *calls)
{
	uint32_t count = window_index(calls->tree.window)->sequence_count;
	struct looked looked = { 0 };
	struct skipped_chunks skipped;
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++)
		if (call_tree_skipped(&calls->tree, i, &skipped))
			err = look_at(calls, &skipped, &looked);
	if (!err)
		err = fold_little(calls, &looked);
	free(looked.nodes);
	return err;
}

int calls_index_add(struct calls *calls, bool folds)
{
	const struct trace_index *index = window_index(calls->tree.window);
	uint64_t first_ns, last_ns, most = find_most_bytes(calls);
	struct skipped_chunks skipped;
	int err = folds ? find_little(calls) : 0;

	trace_index_times(index, &first_ns, &last_ns);
	first_ns = MAX(first_ns, calls->range.from_ns);
	last_ns = MIN(last_ns, calls->range.to_ns);
	if (first_ns && last_ns >= first_ns)
		time_cells_reach(&calls->cells, first_ns, last_ns);
	for (uint32_t i = 0; i < index->sequence_count && !err; i++)
		if (call_tree_skipped(&calls->tree, i, &skipped))
			err = add_sequence(calls, &skipped, most);
	return err;
}
