/* SPDX-License-Identifier: Apache-2.0
 *
 * time_cells - a table of amounts by bucket of time, thread, and node of a
 * tree. The total time is not known in advance, so buckets start narrow; when
 * there are too many buckets or cells, each two buckets become one. Memory is
 * bounded. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TIME_CELLS_H
#define PERFREC_COLLECTOR_READ_TIME_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIME_BUCKETS_MAX 500
#define TIME_THREADS_MAX (1u << 20)
#define TIME_NODES_MAX (1u << 24)

struct time_cell {
	uint64_t key; /* see time_cells_node() and others below */
	uint64_t ns; /* wall time */
	uint64_t calls;
	uint64_t samples;
};

struct time_cells {
	struct time_cell *cells;
	uint32_t *slots; /* hash table: number + 1; 0: empty */
	uint32_t count, room, most;
	uint32_t slot_mask;
	unsigned int shift; /* a bucket is 2^shift ns wide */
	uint64_t first, last; /* bucket numbers, counted from time 0 */
	bool begun; /* there is a bucket */
	uint64_t refused; /* cells without room */
};

/* Makes @table empty, with a limit of @most cells. The caller frees it with
 * time_cells_release(). */
void time_cells_init(struct time_cells *table, uint32_t most);
/* @table may be all zero. */
void time_cells_release(struct time_cells *table);

/*
 * Returns the cell of @thread, @node and the bucket of @ns. @thread and @node
 * are below the limits above. The cell is valid until the next call. Returns
 * NULL without room. *@hint is a cache that the caller keeps for each node; it
 * starts as 0.
 */
struct time_cell *time_cells_get(struct time_cells *table, uint32_t thread,
				 uint32_t node, uint64_t ns, uint32_t *hint);

/* Adds the time from @from to @to, split at the buckets. */
void time_cells_add(struct time_cells *table, uint32_t thread, uint32_t node,
		    uint64_t from, uint64_t to, uint32_t *hint);

/* Widens the buckets now so that the table covers the time from @from to
 * @to. */
void time_cells_reach(struct time_cells *table, uint64_t from, uint64_t to);

struct time_amount {
	uint64_t ns, calls;
};

/* Spreads @amount evenly over the time from @from to @to. Rounding loses
 * nothing. */
void time_cells_spread(struct time_cells *table, uint32_t thread, uint32_t node,
		       uint64_t from, uint64_t to,
		       const struct time_amount *amount);

/* Sorts the cells by bucket, thread, node. Afterwards only time_cells_release()
 * and the functions below may be called. */
void time_cells_sort(struct time_cells *table);

static inline uint32_t time_cells_node(const struct time_cell *cell)
{
	return cell->key & (TIME_NODES_MAX - 1);
}

static inline uint32_t time_cells_thread(const struct time_cell *cell)
{
	return (cell->key >> 24) & (TIME_THREADS_MAX - 1);
}

/* The first bucket is 0. */
static inline uint32_t time_cells_bucket(const struct time_cells *table,
					 const struct time_cell *cell)
{
	return ((cell->key >> 44) - table->first) & 1023;
}

/* Returns the number of buckets, up to TIME_BUCKETS_MAX. */
static inline uint32_t time_cells_buckets(const struct time_cells *table)
{
	return table->begun ? (uint32_t)(table->last - table->first + 1) : 0;
}

/* Returns the start of bucket @number. */
static inline uint64_t time_cells_begin(const struct time_cells *table,
					uint32_t number)
{
	return (table->first + number) << table->shift;
}

#endif
