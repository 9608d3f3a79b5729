/* SPDX-License-Identifier: Apache-2.0
 *
 * index_cells - levels of detail of one sequence (docs/TRACE.md): its slices
 * over time, summed up. Time is divided into buckets of 2^shift ns, counted
 * from time 0. A cell has the slices that ended in one bucket at one depth: the
 * longest slice, their number and their time.
 *
 * A block of level 0 has about 64 Ki spans, a block of level N four of level N
 * - 1. The width of its buckets depends on its duration and its number of
 * cells. Its spans limit its bytes.
 *
 * Slices end in the order of time. So each depth has one column, which counts
 * the slices of the current bucket; at its end the columns go to a list. When
 * the list gets too long, its buckets get wider: two become one.
 *
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_TRACE_INDEX_CELLS_H
#define PERFREC_COLLECTOR_TRACE_INDEX_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/trace/index_items.h"
#include "shared/compiler.h"

struct budget;
struct bytes;

#define INDEX_CELL_LEVELS 16
#define INDEX_CELL_RECENT 4
/* Deeper slices have no cell. */
#define INDEX_CELL_ROWS_MAX 1024u
/* Times are below 2^63, so 64 buckets of this width are enough. */
#define INDEX_CELL_SHIFT_MAX 57u

/* The slices that ended in the current bucket at one depth. */
struct index_column {
	void *node; /* of the longest slice; the caller owns it */
	uint64_t begin_ns;
	uint64_t total_ns;
	uint32_t longest_ns; /* below UINT32_MAX */
	uint32_t calls;
};

struct index_cell {
	uint64_t bucket;
	void *node; /* the caller owns it; unused once number is set */
	uint64_t begin_ns, longest_ns; /* of the longest slice; on a tie, of the
				        * last one to end */
	uint64_t calls, total_ns; /* row 0: lost, paused */
	uint32_t number;
	uint16_t row; /* depth + 1, so 1 is outermost; 0: calls that marks
		       * report as lost, or as left out in a pause */
	bool wait; /* a wait in node, not a call of it */
};

/* Sorted by bucket and row. */
struct index_cell_list {
	struct index_cell *cells;
	uint32_t count, room;
	unsigned int shift;
};

struct index_cell_block {
	struct index_cell_list list; /* from level 1 on, set only during
				      * writing */
	uint8_t *packed; /* from level 1 on: its parts as written */
	size_t packed_bytes, packed_room;
	uint32_t parts; /* blocks of the level below; level 0: chunks */
	uint64_t first_chunk, last_chunk;
	uint64_t start_ns, end_ns; /* of the last event before the block, and of
				    * its last event */
	uint64_t spans;
	uint64_t beyond_calls, beyond_ns; /* in dropped rows */
	uint32_t rows; /* deeper rows were dropped; 0: none */
};

struct index_cells {
	uint64_t until_ns;
	struct index_column *columns;
	uint32_t column_count;
	uint32_t reserved;
	uint32_t used; /* columns from here on are empty */
	bool failed; /* out of memory: no more cells */
	uint64_t bucket;
	uint64_t calls;
	uint8_t recent[INDEX_CELL_RECENT]; /* shifts that suit the last blocks
					    * of level 0 */
	uint32_t blocks;
	struct budget *budget;
	struct index_cell_block level[INDEX_CELL_LEVELS];
};

/* Frees the memory of @cells and clears it; only the budget stays. A new struct
 * is all zero except the budget, which may be NULL. */
void index_cells_release(struct index_cells *cells);

/* Makes no more cells, because the caller has lost something. */
void index_cells_stop(struct index_cells *cells);

/* Makes room for columns of depths below @depths, and for no others, until the
 * next call. Returns false without memory; then there are no more cells. */
bool index_cells_reserve(struct index_cells *cells, uint32_t depths);

/* Counts a slice at @depth. Calls come in the order of @end_ns. Any depth and
 * duration. */
void index_cells_end(struct index_cells *cells, uint32_t depth, void *node,
		     uint64_t begin_ns, uint64_t end_ns);
/* Counts a wait in @node. Any depth. */
void index_cells_wait(struct index_cells *cells, uint32_t depth, void *node,
		      uint64_t begin_ns, uint64_t end_ns);
/* Counts a mark at @ns, which reports calls as @lost or as left out in a
 * pause. */
void index_cells_missing(struct index_cells *cells, uint64_t lost,
			 uint64_t paused, uint64_t ns);

/* Counts a slice that ends before until_ns in the @column of its depth. Returns
 * false, and does not count it, if it is too long for a column. */
static inline bool index_cells_count(struct index_column *column, void *node,
				     uint64_t begin_ns, uint64_t ns)
{
	/* A slice that is too long is always the longest. */
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

/* Reads the cells of an item one by one: index_cell_take() goes to the start,
 * index_cell_next() reads a cell. The item need not be valid. */
struct index_cell_take {
	struct index_get get;
	unsigned int shift;
	uint64_t bucket;
	uint32_t row;
	uint32_t number[INDEX_CELL_ROWS_MAX + 1];
};

/* @cells is the item behind its shift. @start_ns is the time of the last event
 * before the block. */
void index_cell_take(struct index_cell_take *take, struct index_get cells,
		     unsigned int shift, uint64_t start_ns);
/* Reads the next cell into *@out, except for node and wait. Returns false at
 * the end, or if the rest is invalid (take->get.bad). */
bool index_cell_next(struct index_cell_take *take, struct index_cell *out);

/* Ends a chunk. @chunk has its number as first_chunk and last_chunk, its times
 * and its spans. */
void index_cells_chunk(struct index_cells *cells,
		       const struct index_cell_block *chunk);
/*
 * Returns the block of @level if it is full; with @last, also if it has several
 * parts (level 0: any). Its cells are within the limits of an item. The caller
 * numbers their nodes and calls index_cells_put(). Returns NULL if there is
 * none; with @last, higher levels may still have one. Call it after
 * index_cells_chunk(), from level 0 upwards.
 */
struct index_cell_block *index_cells_full(struct index_cells *cells,
					  unsigned int level, bool last);
/* Appends the payload of the block's item to @out, and makes the block a part
 * of the next level. index_cells_full() has returned the block. */
void index_cells_put(struct index_cells *cells, unsigned int level,
		     struct bytes *out);

#endif
