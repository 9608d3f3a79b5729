/* SPDX-License-Identifier: Apache-2.0
 *
 * index_cells - how wide buckets are. A block of level 0 begins with buckets of
 * at most a 128th of the shortest of the last few blocks, since a program may
 * work in bursts. While the list is longer than its limit, pairs of buckets
 * become one. At the end of the block this continues until there are at most 64
 * buckets and the item is small enough. So one span a second makes wide
 * buckets, 50 million make narrow ones, and both take the same bytes of cells
 * for a span.
 */
#include "collector/trace/index_cells.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/bytes.h"
#include "collector/base/grow.h"
#include "collector/base/varint.h"

#define BLOCK_SPANS (64u << 10)
#define PARTS 4u
#define BUCKETS_MAX 64u
#define BUCKETS_FIRST_BITS 7
/* Bytes of cells in a block: one for SPANS_BYTE spans, from level 1 on of the
 * average part. */
#define SPANS_BYTE 16u
#define BYTES_MIN 64u
#define BYTES_MAX 4096u
#define CELL_BYTES 6u /* least bytes of most cells */
#define STEP_BYTES 3u /* for the place of a cell, and for its node */
/* Limits on the cells of a list that may still grow. */
#define LIST_MIN 64u
#define LIST_MAX 448u
#define LIST_CALLS 128u /* calls for each cell, between the limits */

static void fail(struct index_cells *cells)
{
	cells->failed = true;
	cells->until_ns = UINT64_MAX;
}

void index_cells_stop(struct index_cells *cells)
{
	fail(cells);
}

static void free_list(struct index_cells *cells, struct index_cell_list *list)
{
	if (cells->budget)
		budget_give(cells->budget, list->room * sizeof(*list->cells));
	free(list->cells);
	*list = (struct index_cell_list){ .shift = list->shift };
}

static void free_packed(struct index_cells *cells,
			struct index_cell_block *block)
{
	if (cells->budget)
		budget_give(cells->budget, block->packed_room);
	free(block->packed);
	block->packed = NULL;
	block->packed_bytes = block->packed_room = 0;
}

void index_cells_release(struct index_cells *cells)
{
	for (int i = 0; i < INDEX_CELL_LEVELS; i++) {
		free_list(cells, &cells->level[i].list);
		free_packed(cells, &cells->level[i]);
	}
	if (cells->budget)
		budget_give(cells->budget,
			    cells->column_count * sizeof(*cells->columns));
	free(cells->columns);
	*cells = (struct index_cells){ .budget = cells->budget };
}

bool index_cells_reserve(struct index_cells *cells, uint32_t depths)
{
	uint32_t before = cells->column_count;

	if (cells->failed)
		return false;
	cells->reserved = depths;
	cells->used = MAX(cells->used, depths);
	if (depths <= before)
		return true;
	if (grow_array_from(cells->budget, cells->columns, cells->column_count,
			    depths)) {
		fail(cells);
		return false;
	}
	memset(cells->columns + before, 0,
	       (cells->column_count - before) * sizeof(*cells->columns));
	return true;
}

/* --- lists --------------------------------------------------------------- */

static bool is_before(const struct index_cell *a, const struct index_cell *b)
{
	return a->bucket != b->bucket ? a->bucket < b->bucket : a->row < b->row;
}

static void merge_cells(struct index_cell *to, const struct index_cell *from)
{
	bool longer = from->longest_ns != to->longest_ns
			      ? from->longest_ns > to->longest_ns
			      : from->begin_ns >= to->begin_ns;

	to->calls += from->calls;
	to->total_ns += from->total_ns;
	if (!longer)
		return;
	to->node = from->node;
	to->number = from->number;
	to->wait = from->wait;
	to->begin_ns = from->begin_ns;
	to->longest_ns = from->longest_ns;
}

static uint32_t bucket_end(const struct index_cell_list *list, uint32_t at)
{
	uint64_t bucket = list->cells[at].bucket;

	while (at < list->count && list->cells[at].bucket == bucket)
		at++;
	return at;
}

/* Joins the cells of two buckets, [@a, @b) and [@b, @end). Returns the end of
 * @out. */
static struct index_cell *merge_rows(const struct index_cell *cells, uint32_t a,
				     uint32_t b, uint32_t end,
				     struct index_cell *out)
{
	for (uint32_t i = a, k = b; i < b || k < end; out++) {
		bool first =
			k == end || (i < b && cells[i].row <= cells[k].row);
		bool both = first && k < end && cells[i].row == cells[k].row;

		*out = first ? cells[i++] : cells[k++];
		if (both)
			merge_cells(out, &cells[k++]);
		out->bucket >>= 1;
	}
	return out;
}

static void widen(struct index_cells *cells, struct index_cell_list *list)
{
	struct index_cell_list wide = { .shift = list->shift + 1 };
	struct index_cell *out;

	if (grow_array_from(cells->budget, wide.cells, wide.room,
			    list->count + 1) ||
	    !wide.cells) {
		fail(cells);
		return;
	}
	out = wide.cells;
	for (uint32_t at = 0; at < list->count;) {
		uint32_t middle = bucket_end(list, at), end = middle;

		if (middle < list->count &&
		    list->cells[at].bucket >> 1 ==
			    list->cells[middle].bucket >> 1)
			end = bucket_end(list, middle);
		out = merge_rows(list->cells, at, middle, end, out);
		at = end;
	}
	wide.count = (uint32_t)(out - wide.cells);
	free_list(cells, list);
	*list = wide;
}

static void list_put(struct index_cells *cells, struct index_cell_list *list,
		     const struct index_cell *cell)
{
	uint32_t at = list->count;

	while (at && is_before(cell, &list->cells[at - 1]))
		at--;
	if (at && !is_before(&list->cells[at - 1], cell)) {
		merge_cells(&list->cells[at - 1], cell);
		return;
	}
	if (grow_array_from(cells->budget, list->cells, list->room,
			    list->count + 1)) {
		fail(cells);
		return;
	}
	if (unlikely(at < list->count))
		memmove(list->cells + at + 1, list->cells + at,
			(list->count - at) * sizeof(*list->cells));
	list->cells[at] = *cell;
	list->count++;
}

static uint64_t bucket_span(const struct index_cell_list *list)
{
	if (!list->cells || !list->count)
		return 0;
	return list->cells[list->count - 1].bucket - list->cells[0].bucket + 1;
}

/* --- counting ------------------------------------------------------------ */

static void flush_columns(struct index_cells *cells)
{
	for (uint32_t i = 0; i < cells->used; i++) {
		struct index_column *column = &cells->columns[i];
		const struct index_cell cell = {
			.bucket = cells->bucket,
			.row = (uint16_t)(i + 1),
			.node = column->node,
			.begin_ns = column->begin_ns,
			.longest_ns = column->longest_ns,
			.calls = column->calls,
			.total_ns = column->total_ns,
		};

		if (!column->calls)
			continue;
		list_put(cells, &cells->level[0].list, &cell);
		cells->calls += column->calls;
		*column = (struct index_column){ 0 };
	}
	cells->used = cells->reserved;
}

static void advance(struct index_cells *cells, uint64_t ns)
{
	if (ns < cells->until_ns)
		return;
	flush_columns(cells);
	if (!cells->failed) {
		struct index_cell_list *list = &cells->level[0].list;
		uint64_t most = cells->calls / LIST_CALLS;

		most = MIN(MAX(most, LIST_MIN), LIST_MAX);
		while (list->count > most && bucket_span(list) > 1 &&
		       list->shift < INDEX_CELL_SHIFT_MAX && !cells->failed)
			widen(cells, list);
		cells->bucket = ns >> list->shift;
		if (!cells->failed)
			cells->until_ns = (cells->bucket + 1) << list->shift;
	}
}

static void put_apart(struct index_cells *cells, uint32_t depth,
		      struct index_cell *cell, uint64_t ns)
{
	if (cells->failed || depth >= INDEX_CELL_ROWS_MAX)
		return;
	advance(cells, ns);
	cell->bucket = cells->bucket;
	list_put(cells, &cells->level[0].list, cell);
	cells->calls++;
}

static void end_apart(struct index_cells *cells, uint32_t depth, void *node,
		      bool wait, uint64_t begin_ns, uint64_t end_ns)
{
	struct index_cell cell = { .row = (uint16_t)(depth + 1),
				   .node = node,
				   .wait = wait,
				   .begin_ns = begin_ns,
				   .longest_ns = end_ns - begin_ns,
				   .calls = 1,
				   .total_ns = end_ns - begin_ns };

	put_apart(cells, depth, &cell, end_ns);
}

void index_cells_end(struct index_cells *cells, uint32_t depth, void *node,
		     uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t ns = end_ns - begin_ns;

	if (depth >= cells->reserved)
		index_cells_reserve(cells, depth + 1);
	if (cells->failed)
		return;
	advance(cells, end_ns);
	if (!index_cells_count(&cells->columns[depth], node, begin_ns, ns))
		end_apart(cells, depth, node, false, begin_ns, end_ns);
}

void index_cells_wait(struct index_cells *cells, uint32_t depth, void *node,
		      uint64_t begin_ns, uint64_t end_ns)
{
	end_apart(cells, depth, node, true, begin_ns, end_ns);
}

void index_cells_missing(struct index_cells *cells, uint64_t lost,
			 uint64_t paused, uint64_t ns)
{
	struct index_cell cell = { .calls = lost, .total_ns = paused };

	if (lost || paused)
		put_apart(cells, 0, &cell, ns);
}

/* --- items --------------------------------------------------------------- */

/* Cells are stored as differences from the previous cell, and from the last
 * node of their row. */
struct before {
	uint64_t bucket;
	uint32_t row;
	uint32_t number[INDEX_CELL_ROWS_MAX + 1];
};

static void put_cell(struct before *before, const struct index_cell *cell,
		     unsigned int shift, struct bytes *out)
{
	if (cell->bucket == before->bucket) {
		bytes_varint(out, 2 * (uint64_t)(cell->row - before->row));
	} else {
		bytes_varint(out, 2 * (cell->bucket - before->bucket) + 1);
		bytes_varint(out, cell->row);
	}
	before->bucket = cell->bucket;
	before->row = cell->row;
	if (cell->row) {
		int64_t step =
			(int64_t)cell->number - before->number[cell->row];
		uint64_t end_ns = cell->begin_ns + cell->longest_ns;

		before->number[cell->row] = cell->number;
		bytes_varint(out, index_zigzag(step) << 1 | (cell->calls > 1));
		bytes_varint(out, end_ns - (cell->bucket << shift));
		bytes_varint(out, cell->longest_ns);
		if (cell->calls != 1) {
			bytes_varint(out, cell->calls);
			bytes_varint(out, cell->total_ns - cell->longest_ns);
		}
		return;
	}
	bytes_varint(out, cell->calls);
	bytes_varint(out, cell->total_ns);
}

static void put_cells(const struct index_cell_list *list, uint64_t start_ns,
		      struct bytes *out)
{
	/* The bucket before the block. No cell has it, because none ends
	 * earlier. */
	struct before before = { .bucket = (start_ns >> list->shift) - 1 };

	for (uint32_t i = 0; i < list->count; i++)
		put_cell(&before, &list->cells[i], list->shift, out);
}

/* --- reading items ------------------------------------------------------- */

/* @bucket is that of the cell before the first one. */
static void take_from(struct index_cell_take *take, struct index_get cells,
		      unsigned int shift, uint64_t bucket)
{
	*take = (struct index_cell_take){ .get = cells,
					  .shift = shift,
					  .bucket = bucket };
}

void index_cell_take(struct index_cell_take *take, struct index_get cells,
		     unsigned int shift, uint64_t start_ns)
{
	take_from(take, cells, shift, (start_ns >> shift) - 1);
}

bool index_cell_next(struct index_cell_take *take, struct index_cell *out)
{
	struct index_get *get = &take->get;
	uint64_t step, row;

	if (get->at == get->end || get->bad)
		return false;
	step = index_get_number(get);
	take->bucket += step & 1 ? step >> 1 : 0;
	row = step & 1 ? index_get_number(get) : take->row + (step >> 1);
	if (get->bad || row > INDEX_CELL_ROWS_MAX) {
		get->bad = true;
		return false;
	}
	take->row = (uint32_t)row;
	*out = (struct index_cell){ .bucket = take->bucket,
				    .row = (uint16_t)row };
	if (row) {
		uint64_t node = index_get_number(get);
		uint64_t end_ns =
			(out->bucket << take->shift) + index_get_number(get);

		out->number = take->number[out->row] +=
			(uint32_t)index_unzigzag(node >> 1);
		out->longest_ns = index_get_number(get);
		out->begin_ns = end_ns - out->longest_ns;
		get->bad |= out->longest_ns > end_ns;
		out->calls = 1;
		out->total_ns = out->longest_ns;
		if (node & 1) {
			out->calls = index_get_number(get);
			out->total_ns += index_get_number(get);
		}
	} else {
		out->calls = index_get_number(get);
		out->total_ns = index_get_number(get);
	}
	return !get->bad;
}

/* --- blocks -------------------------------------------------------------- */

static void add_part(struct index_cell_block *block,
		     const struct index_cell_block *part)
{
	if (!block->parts++) {
		block->first_chunk = part->first_chunk;
		block->start_ns = part->start_ns;
	}
	block->last_chunk = part->last_chunk;
	block->end_ns = part->end_ns;
	block->spans += part->spans;
	block->beyond_calls += part->beyond_calls;
	block->beyond_ns += part->beyond_ns;
	/* A row that a part has left out would be incomplete. */
	if (part->rows && (!block->rows || part->rows < block->rows))
		block->rows = part->rows;
}

void index_cells_chunk(struct index_cells *cells,
		       const struct index_cell_block *chunk)
{
	add_part(&cells->level[0], chunk);
}

static size_t number_bytes(uint64_t number)
{
	return (70 - (size_t)__builtin_clzll(number | 1)) / 7;
}

static size_t list_bytes(const struct index_cell_list *list)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct index_cell *cell = &list->cells[i];

		bytes += STEP_BYTES + (list->shift + 6) / 7 +
			 number_bytes(cell->longest_ns);
		if (cell->calls > 1)
			bytes += number_bytes(cell->calls) +
				 number_bytes(cell->total_ns);
	}
	return bytes;
}

static bool is_small(const struct index_cell_block *block, unsigned int level)
{
	const struct index_cell_list *list = &block->list;
	size_t most;
	uint64_t bytes = block->spans / SPANS_BYTE;

	if (level)
		bytes /= block->parts;
	most = (size_t)MIN(MAX(bytes, BYTES_MIN), BYTES_MAX);

	return bucket_span(list) <= BUCKETS_MAX &&
	       list->count * CELL_BYTES <= most && list_bytes(list) <= most;
}

static void drop_row(struct index_cell_block *block)
{
	struct index_cell_list *list = &block->list;
	uint32_t kept = 0;
	uint16_t row = 0;

	for (uint32_t i = 0; i < list->count; i++)
		row = MAX(row, list->cells[i].row);
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->cells[i].row != row) {
			list->cells[kept++] = list->cells[i];
			continue;
		}
		block->beyond_calls += list->cells[i].calls;
		block->beyond_ns += list->cells[i].total_ns;
	}
	list->count = kept;
	block->rows = row - 1U;
}

static bool shrink(struct index_cells *cells, struct index_cell_block *block)
{
	struct index_cell_list *list = &block->list;

	if (bucket_span(list) > 1 && list->shift < INDEX_CELL_SHIFT_MAX)
		widen(cells, list);
	else if (list->count > 2)
		drop_row(block);
	else
		return false;
	return !cells->failed;
}

static void join_cell(struct index_cells *cells, struct index_cell_list *list,
		      struct index_cell *cell, unsigned int shift)
{
	cell->bucket >>= list->shift - shift;
	list_put(cells, list, cell);
	while (list->count > LIST_MAX && bucket_span(list) > 1 &&
	       list->shift < INDEX_CELL_SHIFT_MAX && !cells->failed)
		widen(cells, list);
}

static void unpack_part(struct index_cells *cells,
			struct index_cell_block *block, struct index_get *get)
{
	unsigned int shift = (unsigned int)index_get_number(get);
	uint64_t bucket = index_get_number(get);
	uint64_t bytes = index_get_number(get);
	struct index_get part = { .at = get->at, .end = get->at + bytes };
	struct index_cell_take take;
	struct index_cell cell;

	while (block->list.shift < shift && !cells->failed)
		if (block->list.count)
			widen(cells, &block->list);
		else
			block->list.shift = shift;
	take_from(&take, part, shift, bucket);
	while (!cells->failed && index_cell_next(&take, &cell)) {
		if (block->rows && cell.row > block->rows) {
			block->beyond_calls += cell.calls;
			block->beyond_ns += cell.total_ns;
			continue;
		}
		join_cell(cells, &block->list, &cell, shift);
	}
	get->at = part.end;
}

static void unpack(struct index_cells *cells, struct index_cell_block *block)
{
	struct index_get get = { .at = block->packed,
				 .end = block->packed + block->packed_bytes };

	block->list.shift = 0;
	while (get.at < get.end && !cells->failed)
		unpack_part(cells, block, &get);
	free_packed(cells, block);
}

static void append_packed(struct index_cells *cells,
			  struct index_cell_block *block, const uint8_t *from,
			  size_t count)
{
	if (cells->failed || !count)
		return;
	if (grow_array_from(cells->budget, block->packed, block->packed_room,
			    block->packed_bytes + count)) {
		fail(cells);
		return;
	}
	memcpy(block->packed + block->packed_bytes, from, count);
	block->packed_bytes += count;
}

static void keep_part(struct index_cells *cells, struct index_cell_block *block,
		      const struct index_cell_block *part, const uint8_t *from,
		      size_t count)
{
	uint8_t head[3 * VARINT_BYTES_MAX], *end;

	end = varint_put(head, part->list.shift);
	end = varint_put(end, (part->start_ns >> part->list.shift) - 1);
	end = varint_put(end, count);
	append_packed(cells, block, head, (size_t)(end - head));
	append_packed(cells, block, from, count);
}

static uint8_t first_shift(uint64_t ns)
{
	ns >>= BUCKETS_FIRST_BITS;
	return ns ? (uint8_t)(63 ^ __builtin_clzll(ns)) : 0;
}

static void clear_block(struct index_cells *cells, unsigned int level)
{
	struct index_cell_block *block = &cells->level[level];
	struct index_cell_list list = block->list;

	free_packed(cells, block);
	if (level) {
		free_list(cells, &list);
	} else {
		uint8_t shift;

		list.count = 0;
		shift = first_shift(block->end_ns - block->start_ns);
		cells->recent[cells->blocks++ % INDEX_CELL_RECENT] = shift;
		for (uint32_t i = 0; i < MIN(cells->blocks, INDEX_CELL_RECENT);
		     i++)
			shift = MIN(shift, cells->recent[i]);
		list.shift = shift;
		cells->calls = 0;
		cells->until_ns = cells->failed ? UINT64_MAX : 0;
	}
	*block = (struct index_cell_block){ .list = list };
}

/* The block of @level has only one part: passes it on to the next level. */
static void move_up(struct index_cells *cells, unsigned int level)
{
	struct index_cell_block *block = &cells->level[level];

	if (level + 1 == INDEX_CELL_LEVELS)
		return;
	append_packed(cells, block + 1, block->packed, block->packed_bytes);
	add_part(block + 1, block);
	clear_block(cells, level);
}

struct index_cell_block *index_cells_full(struct index_cells *cells,
					  unsigned int level, bool last)
{
	struct index_cell_block *block = &cells->level[level];
	bool full = level ? block->parts == PARTS : block->spans >= BLOCK_SPANS;

	if (last)
		full |= block->parts > (level ? 1 : 0);
	if (cells->failed)
		return NULL;
	/* Its only part is in the index already, as a block of the level
	 * below. */
	if (last && !full && block->parts)
		move_up(cells, level);
	if (!full)
		return NULL;
	if (level)
		unpack(cells, block);
	else
		flush_columns(cells);
	while (!is_small(block, level) && shrink(cells, block))
		;
	return cells->failed ? NULL : block;
}

void index_cells_put(struct index_cells *cells, unsigned int level,
		     struct bytes *out)
{
	struct index_cell_block *block = &cells->level[level];
	size_t head;

	bytes_varint(out, level);
	bytes_varint(out, block->first_chunk);
	bytes_varint(out, block->last_chunk - block->first_chunk);
	bytes_varint(out, block->start_ns);
	bytes_varint(out, block->end_ns - block->start_ns);
	bytes_varint(out, block->spans);
	bytes_varint(out, block->beyond_calls);
	bytes_varint(out, block->beyond_ns);
	bytes_varint(out, block->list.shift);
	head = out->count;
	put_cells(&block->list, block->start_ns, out);
	if (out->failed)
		fail(cells);
	if (level + 1 < INDEX_CELL_LEVELS && !cells->failed) {
		keep_part(cells, block + 1, block, out->at + head,
			  out->count - head);
		add_part(block + 1, block);
	}
	clear_block(cells, level);
}
