/* SPDX-License-Identifier: Apache-2.0
 *
 * calls_index - chunks that the index tells of become parts of calls.h.
 *
 * A row of a chunk has the time of a node with its callees, and the calls that
 * ended. So the node has this time itself, and its caller as much less; and the
 * calls that began are those that ended, and those that go on behind the chunk,
 * without those that went on at its begin. Rows of chunks that lie in one
 * bucket are added up before they go to the cells.
 *
 * A large program has so many stacks that most of them have next to nothing. If
 * the caller wants them folded, some chunks are looked at first: what has
 * little there, with all that it calls, has its cells together.
 *
 * Of the levels of detail each sequence has the finest one that is not too long
 * for the timeline. A block that is not of these chunks alone, or is missing,
 * gives way to blocks of the level below.
 */
#include <errno.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/index/index_cells.h"
#include "collector/read/calls_inner.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_jump.h"
#include "shared/compiler.h"

/* Bytes of cells that are read, of all sequences. A cell has some 7: these are
 * more cells than the timeline has calls. */
#define CELL_BYTES_MOST (2u << 20)
/* So many chunks of a sequence are looked at for stacks that have little: a
 * stack that has less than this part of the time and of the calls. */
#define CHUNKS_LOOKED_AT 64u
#define LITTLE 2000u
/* The same, for those that have next to nothing. */
#define NOTHING 50000u

/* A node of the index. */
struct node_sum {
	uint64_t ns, calls; /* are not in the cells yet */
	bool touched, is_call;
};

/* What is added of one sequence. */
struct added {
	struct calls *calls;
	struct skipped_chunks skipped;
	uint32_t thread;
	uint32_t *nodes; /* of calls, plus 1, by number of the index; 0: not
			  * asked yet */
	struct node_sum *sums; /* the same */
	uint32_t *touched; /* numbers */
	uint32_t touched_count;
	uint64_t from_ns, to_ns; /* of the chunks that are in sums */
	const struct trace_index *index;
	struct index_buffer buffer; /* rows or cells at hand */
	bool unread; /* some cells could not be read */
};

/* --- nodes --- */

/* Finds the node of calls for @number, and whether slices of it are calls.
 * Slices of a site are no functions: their time is their caller's. What has no
 * room, or callers that make no sense, is the caller's too. */
static void ask_node(struct added *added, uint32_t number, uint32_t parent)
{
	const struct index_sequence *sequence = added->skipped.sequence;
	struct trace_reader *reader = added->calls->reader;
	uint32_t iid = sequence->nodes[number].iid, node = 0;
	bool is_site = iid && trace_reader_is_site(reader, sequence->id, iid);

	if (!is_site)
		node = calls_child(
			added->calls, parent,
			trace_reader_name(reader, sequence->id, iid));
	added->sums[number].is_call = node;
	added->nodes[number] = (node ?: parent) + 1;
}

static uint32_t node_of(struct added *added, uint32_t number)
{
	uint32_t path[INDEX_PATH_MOST], top;
	uint32_t depth = index_node_path(added->skipped.sequence, number,
					 added->nodes, path, &top);
	uint32_t node = 0;

	if (depth == INDEX_PATH_MOST)
		return 0;
	if (top)
		node = added->nodes[top] - 1;
	while (depth) {
		ask_node(added, path[--depth], node);
		node = added->nodes[path[depth]] - 1;
	}
	return node;
}

/* --- chunks --- */

static struct node_sum *touch(struct added *added, uint32_t number)
{
	struct node_sum *sum = &added->sums[number];

	if (!sum->touched)
		added->touched[added->touched_count++] = number;
	sum->touched = true;
	return sum;
}

/* What was added up goes to the cells. */
static void flush_sums(struct added *added)
{
	for (uint32_t i = 0; i < added->touched_count; i++) {
		uint32_t number = added->touched[i];
		struct node_sum *sum = &added->sums[number];
		/* It says whether there are calls. */
		uint32_t node = node_of(added, number);
		const struct time_amount amount = { sum->ns,
						    sum->is_call ? sum->calls
								 : 0 };

		if (node && (amount.ns || amount.calls))
			time_cells_spread(&added->calls->cells, added->thread,
					  calls_cells_of(added->calls, node),
					  added->from_ns, added->to_ns,
					  &amount);
		added->calls->folded += node ? 0 : sum->calls;
		sum->ns = sum->calls = 0;
		sum->touched = false;
	}
	added->touched_count = 0;
}

/* Adds @calls, modulo 2^64, of each slice that is open where chunk @number
 * begins. 0 or -ENOMEM. */
static int add_open(struct added *added, uint32_t number, uint64_t calls)
{
	const struct index_sequence *sequence = added->skipped.sequence;
	struct index_stack stack;
	int err = index_chunk_stack(sequence, number, &stack);

	for (uint32_t i = 0; i < stack.count; i++)
		touch(added, stack.slices[i].node)->calls += calls;
	free(stack.slices);
	return err;
}

static int add_chunk(struct added *added, uint32_t number)
{
	const struct index_sequence *sequence = added->skipped.sequence;
	const struct index_chunk *chunk = &sequence->chunks[number];
	struct index_get rows =
		index_load(added->index, chunk->rows, &added->buffer);
	struct index_row row;
	int64_t node = 0;
	int err = rows.bad ? -EIO : add_open(added, number, UINT64_MAX);

	for (uint64_t left = chunk->row_count;
	     left && index_row_next(sequence, &rows, &node, &row); left--) {
		struct node_sum *sum = touch(added, row.node);
		uint32_t caller = sequence->nodes[row.node].parent;

		sum->ns += row.total_ns;
		sum->calls += row.calls;
		if (caller && caller < sequence->node_count)
			touch(added, caller)->ns -= row.total_ns;
	}
	return err ?: add_open(added, number + 1, 1);
}

static int add_chunks(struct added *added)
{
	const struct skipped_chunks *skipped = &added->skipped;
	int err = 0;

	for (uint32_t i = skipped->first; i <= skipped->last && !err; i++) {
		const struct index_chunk *chunk = &skipped->sequence->chunks[i];
		unsigned int shift = added->calls->cells.shift;
		uint64_t bucket = chunk->start_ns >> shift;

		if (added->from_ns >> shift != bucket ||
		    chunk->end_ns >> shift != bucket)
			flush_sums(added);
		if (!added->touched_count)
			added->from_ns = chunk->start_ns;
		added->to_ns = chunk->end_ns;
		err = add_chunk(added, i);
		if (chunk->end_ns >> shift != bucket)
			flush_sums(added);
	}
	flush_sums(added);
	return err;
}

/* --- levels of detail --- */

/* Calls that are missing: after the bucket that @cell is of, and before the
 * next cell. */
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
	const struct index_sequence *sequence = added->skipped.sequence;
	struct timeline_call call = {
		.thread = added->thread,
		.depth = cell->row - 1U,
		.begin_ns = MAX(cell->begin_ns, added->calls->range.from_ns),
		.count = (uint32_t)MIN(cell->calls, UINT32_MAX),
	};
	uint64_t end_ns = cell->begin_ns + cell->longest_ns;

	if (cell->number >= sequence->node_count || end_ns < call.begin_ns)
		return;
	call.duration_ns = end_ns - call.begin_ns;
	call.name = trace_reader_name(added->calls->reader, sequence->id,
				      sequence->nodes[cell->number].iid);
	timeline_take(&added->calls->timeline, &call);
}

static void add_block(struct added *added, const struct index_block *block)
{
	struct index_get cells =
		index_load(added->index, block->cells, &added->buffer);
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

/* The chunks that are left out, as numbers of the index. */
static uint64_t first_number(const struct skipped_chunks *skipped)
{
	return skipped->sequence->chunks[skipped->first].number;
}

static uint64_t last_number(const struct skipped_chunks *skipped)
{
	return skipped->sequence->chunks[skipped->last].number;
}

/* Whether all chunks of @block are left out. */
static bool is_skipped(const struct skipped_chunks *skipped,
		       const struct index_block *block)
{
	return block->first_chunk >= first_number(skipped) &&
	       block->last_chunk <= last_number(skipped);
}

/* Where in the blocks of @sequence those of @level are whose first chunk is
 * @from or later. */
static uint32_t find_blocks(const struct index_sequence *sequence,
			    unsigned int level, uint64_t from)
{
	uint32_t low = 0, high = sequence->block_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		const struct index_block *block = &sequence->blocks[middle];

		if (block->level < level ||
		    (block->level == level && block->first_chunk < from))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The next block from *@at on of @level, that begins with chunk @to or before,
 * and of which all chunks are left out. NULL: there is none. */
static const struct index_block *next_block(
	const struct skipped_chunks *skipped, uint32_t *at, unsigned int level,
	uint64_t to)
{
	const struct index_sequence *sequence = skipped->sequence;

	for (; *at < sequence->block_count; ++*at) {
		const struct index_block *block = &sequence->blocks[*at];

		if (block->level != level || block->first_chunk > to)
			return NULL;
		if (is_skipped(skipped, block))
			return block;
	}
	return NULL;
}

/* Adds the chunks from @from to @to by blocks of @level; what these are without
 * by those below. */
static void add_levels(struct added *added, unsigned int level, uint64_t from,
		       uint64_t to)
{
	uint32_t at = find_blocks(added->skipped.sequence, level, from);
	const struct index_block *block;

	for (; (block = next_block(&added->skipped, &at, level, to)); at++) {
		/* Damage: it is of chunks that were added, or of others, too.
		 */
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

/* How many bytes of cells the index has of @skipped at @level. */
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

/* The finest level of @skipped that has @most bytes or fewer; the highest one
 * there is has more. Sets *@bytes to what it has. */
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

/* The chunks of sequence @number of the index that are left out, and that are
 * chosen. */
static bool has_skipped(struct calls *calls, uint32_t number,
			struct skipped_chunks *out)
{
	return trace_reader_skipped(calls->reader, number, out) &&
	       window_gives_track(calls->window, out->track);
}

/* How many bytes a sequence may have, so that all together have few. */
static uint64_t find_most(struct calls *calls)
{
	uint32_t count = window_index(calls->window)->sequence_count;
	uint64_t most = CELL_BYTES_MOST, sum;

	for (;; most /= 2) {
		sum = 0;
		for (uint32_t i = 0; i < count; i++) {
			struct skipped_chunks skipped;
			uint64_t bytes;

			if (!has_skipped(calls, i, &skipped))
				continue;
			find_level(&skipped, most, &bytes);
			sum += bytes;
		}
		if (sum <= CELL_BYTES_MOST || !most)
			return most;
	}
}

/* The thread of @track has events that are not read. */
static void note_times(struct added *added)
{
	const struct skipped_chunks *skipped = &added->skipped;
	const struct index_chunk *chunks = skipped->sequence->chunks;
	struct trace_track *track = trace_reader_track(added->calls->reader,
						       skipped->track->number);
	uint64_t first_ns = chunks[skipped->first].start_ns;

	/* Events before these chunks are read. */
	if (!skipped->first)
		track->first_ns = first_ns;
	track->last_ns = MAX(track->last_ns, chunks[skipped->last].end_ns);
}

/* Begins to add @skipped. 0 or -ENOMEM; the caller ends it by end_added() in
 * any case. */
static int begin_added(struct added *added, struct calls *calls,
		       const struct skipped_chunks *skipped)
{
	size_t count = (size_t)skipped->sequence->node_count + 1;

	*added = (struct added){
		.calls = calls,
		.skipped = *skipped,
		.index = window_index(calls->window),
		.thread = calls_thread_of(calls, skipped->track),
		.nodes = calloc(count, sizeof(*added->nodes)),
		.sums = calloc(count, sizeof(*added->sums)),
		.touched = calloc(count, sizeof(*added->touched)),
	};
	return added->thread && added->nodes && added->sums && added->touched
		       ? 0
		       : -ENOMEM;
}

static void end_added(struct added *added)
{
	free(added->nodes);
	free(added->sums);
	free(added->touched);
	free(added->buffer.at);
}

static int add_sequence(struct calls *calls,
			const struct skipped_chunks *skipped, uint64_t most)
{
	struct added added;
	uint64_t bytes;
	int err = begin_added(&added, calls, skipped);

	if (!err) {
		note_times(&added);
		err = add_chunks(&added);
		add_levels(&added, find_level(skipped, most, &bytes),
			   first_number(skipped), last_number(skipped));
		err = err ?: added.unread ? -EIO : 0;
	}
	end_added(&added);
	return err;
}

/* --- stacks that have little --- */

/* What nodes of calls have in the chunks that were looked at. */
struct looked {
	struct time_amount *nodes;
	uint32_t room;
};

/* Adds what was added up to @looked. 0 or -ENOMEM. */
static int look_at_sums(struct added *added, struct looked *looked)
{
	for (uint32_t i = 0; i < added->touched_count; i++) {
		struct node_sum *sum = &added->sums[added->touched[i]];
		uint32_t node = node_of(added, added->touched[i]);

		if (grow_array_zeroed(looked->nodes, looked->room,
				      (size_t)node + 1))
			return -ENOMEM;
		looked->nodes[node].ns += sum->ns;
		looked->nodes[node].calls += sum->is_call ? sum->calls : 0;
	}
	return 0;
}

static int look_at(struct calls *calls, const struct skipped_chunks *skipped,
		   struct looked *looked)
{
	uint32_t count = skipped->last - skipped->first + 1;
	struct added added;
	int err = begin_added(&added, calls, skipped);

	for (uint32_t i = skipped->first; i <= skipped->last && !err;
	     i += MAX(count / CHUNKS_LOOKED_AT, 1u))
		err = add_chunk(&added, i);
	if (!err)
		err = look_at_sums(&added, looked);
	end_added(&added);
	return err;
}

static bool has_less(const struct time_amount *amount,
		     const struct time_amount *all, uint64_t part)
{
	return amount->ns < all->ns / part && amount->calls < all->calls / part;
}

/* What stacks have that have little goes to the outermost of them, or, if that
 * has next to nothing, to its caller. */
static int fold_little(struct calls *calls, struct looked *looked)
{
	uint32_t count = calls->nodes.count;
	struct time_amount *nodes;

	if (grow_array_zeroed(looked->nodes, looked->room, count))
		return -ENOMEM;
	calls->folded_to = calloc(count, sizeof(*calls->folded_to));
	if (!calls->folded_to)
		return -ENOMEM;
	nodes = looked->nodes;
	/* Callers come first. */
	for (uint32_t i = count; i-- > 1;) {
		uint32_t parent = calls_node(calls, i)->parent;

		nodes[parent].ns += nodes[i].ns;
		nodes[parent].calls += nodes[i].calls;
	}
	for (uint32_t i = 1; i < count; i++) {
		uint32_t parent = calls_node(calls, i)->parent;

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
	uint32_t count = window_index(calls->window)->sequence_count;
	struct looked looked = { 0 };
	struct skipped_chunks skipped;
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++)
		if (has_skipped(calls, i, &skipped))
			err = look_at(calls, &skipped, &looked);
	if (!err)
		err = fold_little(calls, &looked);
	free(looked.nodes);
	return err;
}

int calls_index_add(struct calls *calls, bool folds)
{
	const struct trace_index *index = window_index(calls->window);
	uint64_t first_ns, last_ns, most = find_most(calls);
	struct skipped_chunks skipped;
	int err = folds ? find_little(calls) : 0;

	trace_index_times(index, &first_ns, &last_ns);
	first_ns = MAX(first_ns, calls->range.from_ns);
	last_ns = MIN(last_ns, calls->range.to_ns);
	if (first_ns && last_ns >= first_ns)
		time_cells_reach(&calls->cells, first_ns, last_ns);
	for (uint32_t i = 0; i < index->sequence_count && !err; i++)
		if (has_skipped(calls, i, &skipped))
			err = add_sequence(calls, &skipped, most);
	return err;
}
