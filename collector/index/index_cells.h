/* SPDX-License-Identifier: Apache-2.0
 *
 * index_cells - levels of detail of one sequence (docs/INDEX.md): what its
 * slices were like over time, without all of them. Time is cut into buckets of
 * 2^shift ns, counted from time 0. A cell is what ended in a bucket at one
 * depth: the longest slice, how many, and their time.
 *
 * A block of level 0 is some 64 Ki spans, one of level N has four of level
 * N - 1. How wide its buckets are follows from how long it took and how many
 * cells it has; its bytes are bounded by its spans.
 *
 * Ends come in the order of time. So there is one cell for each depth that is
 * counted into, a column; when the bucket is over, the columns go to a list. A
 * list that gets too long has its buckets made wider, two become one.
 *
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_INDEX_INDEX_CELLS_H
#define PERFREC_COLLECTOR_INDEX_INDEX_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/index/index_items.h"
#include "shared/compiler.h"

struct budget;
struct bytes;

#define INDEX_CELL_LEVELS 16
#define INDEX_CELL_RECENT 4
/* Deeper slices are in no cell. */
#define INDEX_CELL_ROWS_MAX 1024u
/* Times are below 2^63: with this, 64 buckets are all of them. */
#define INDEX_CELL_SHIFT_MAX 57u

/* What ended in the bucket at hand, at one depth. */
struct index_column {
	void *node; /* of the longest; the caller's */
	uint64_t begin_ns; /* of the longest */
	uint64_t total_ns;
	uint32_t longest_ns; /* below UINT32_MAX */
	uint32_t calls;
};

struct index_cell {
	uint64_t bucket;
	void *node; /* the caller's; not needed any more when it has a number */
	uint64_t begin_ns, longest_ns; /* of the longest; of several of the same
					* duration the one that ended last */
	uint64_t calls, total_ns; /* of row 0: lost, paused */
	uint32_t number; /* of the node in the index; 0: not asked yet */
	uint16_t row; /* depth + 1, 1 is outermost; 0: calls that marks say were
		       * lost, or left out in a pause */
	bool wait; /* no call: a wait in node */
};

/* Cells, by bucket and row. */
struct index_cell_list {
	struct index_cell *cells;
	uint32_t count, room;
	unsigned int shift;
};

/* A block: all of its chunks. */
struct index_cell_block {
	struct index_cell_list list; /* from level 1 on: while it is written */
	uint8_t *packed; /* its parts, from level 1 on, as they were written */
	size_t packed_bytes, packed_room;
	uint32_t parts; /* blocks of the level below; of level 0: chunks */
	uint64_t first_chunk, last_chunk; /* numbers */
	uint64_t start_ns, end_ns; /* the last event before, and its last */
	uint64_t spans; /* about */
	uint64_t beyond_calls, beyond_ns; /* in rows that are left out */
	uint32_t rows; /* those beyond are left out; 0: none are */
};

struct index_cells {
	uint64_t until_ns; /* the end of the bucket at hand */
	struct index_column *columns; /* by depth */
	uint32_t column_count; /* there is room for */
	uint32_t reserved; /* by the last index_cells_reserve() */
	uint32_t used; /* from here on columns are empty */
	bool failed; /* there was no room: no more cells */
	uint64_t bucket; /* at hand */
	uint64_t calls; /* in the list */
	uint8_t recent[INDEX_CELL_RECENT]; /* shifts for blocks as long as the
					    * last ones of level 0 */
	uint32_t blocks; /* of level 0, that were written */
	struct budget *budget;
	struct index_cell_block level[INDEX_CELL_LEVELS];
};

/* @cells is all zero but for the budget (NULL: none), and until_ns 0. Frees
 * what it has. */
void index_cells_release(struct index_cells *cells);

/* Something was lost: there will be no more cells. */
void index_cells_stop(struct index_cells *cells);

/* Makes room for columns of depths below @depths: until the next call there is
 * room for no others. False: there is none; then there will be no cells any
 * more. */
bool index_cells_reserve(struct index_cells *cells, uint32_t depths);

/* A slice at @depth ended at @end_ns, which is not earlier than ends before.
 * Any depth and duration. */
void index_cells_end(struct index_cells *cells, uint32_t depth, void *node,
		     uint64_t begin_ns, uint64_t end_ns);
/* The same for a wait, which is no call of @node, but in it. Any depth. */
void index_cells_wait(struct index_cells *cells, uint32_t depth, void *node,
		      uint64_t begin_ns, uint64_t end_ns);
/* A mark at @ns says that calls were @lost, or left out in a pause. */
void index_cells_missing(struct index_cells *cells, uint64_t lost,
			 uint64_t paused, uint64_t ns);

/* index_cells_end() of a slice that ends before until_ns, whose depth has
 * @column. False: it is too long for that, and was not counted. */
static inline bool index_cells_count(struct index_column *column, void *node,
				     uint64_t begin_ns, uint64_t ns)
{
	/* Those that are too long are among these. */
	if (unlikely(ns >= column->longest_ns)) {
		if (ns >= UINT32_MAX)
			return false;
		column->longest_ns = (uint32_t)ns;
		column->begin_ns = begin_ns;
		column->node = node;
	}
	column->total_ns += ns;
	column->calls++;
	return true;
}

/* Cells of a block, that are taken out of its item one by one:
 * index_cell_take() sets it to the first, index_cell_next() goes on. The item
 * may come from anywhere. */
struct index_cell_take {
	struct index_get get;
	unsigned int shift;
	uint64_t bucket; /* of the last cell */
	uint32_t row;
	uint32_t number[INDEX_CELL_ROWS_MAX + 1]; /* of the node, by row */
};

/* @cells is what follows the shift in the item, @start_ns the time of the last
 * event before the block. */
void index_cell_take(struct index_cell_take *take, struct index_get cells,
		     unsigned int shift, uint64_t start_ns);
/* Sets *@out, of which node and wait are not set, to the next cell. False:
 * there are no more, or what is left makes no sense (take->get.bad). */
bool index_cell_next(struct index_cell_take *take, struct index_cell *out);

/* A chunk ends. @chunk has its number as first_chunk and last_chunk, its times
 * and its spans. */
void index_cells_chunk(struct index_cells *cells,
		       const struct index_cell_block *chunk);
/* The block of @level, if it has all its parts, or if @last and it has several
 * (of level 0: any). Its cells are at most as many as its item may have. The
 * caller numbers their nodes and calls index_cells_put(). NULL: there is none;
 * ask for the next level. From level 0 on, after index_cells_chunk(). */
struct index_cell_block *index_cells_full(struct index_cells *cells,
					  unsigned int level, bool last);
/* Appends the payload of the item of the block of @level, which
 * index_cells_full() returned, to @out, and makes it part of the next one. */
void index_cells_put(struct index_cells *cells, unsigned int level,
		     struct bytes *out);

#endif
