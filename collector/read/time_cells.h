/* SPDX-License-Identifier: Apache-2.0
 *
 * time_cells - what happened at which time, in which thread, at which node of a
 * tree: a table with a cell for each (bucket of time, thread, node) of which
 * anything is known. How long the whole time will be is not known before: the
 * buckets begin narrow, and two become one whenever there are too many of them,
 * or too many cells. Memory is bounded. One thread at a time.
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
	uint64_t key; /* see time_cells_node() and the like */
	uint64_t ns; /* wall time */
	uint64_t calls;
	uint64_t samples;
};

struct time_cells {
	struct time_cell *cells;
	uint32_t *slots; /* hash table: number + 1; 0: empty */
	uint32_t count, room, most; /* cells */
	uint32_t slot_mask;
	unsigned int shift; /* a bucket is 2^shift ns wide */
	uint64_t first, last; /* buckets, in widths since time 0 */
	bool begun; /* there is a bucket */
	uint64_t refused; /* times that there was no room for a cell */
};

/* Makes @table empty, which never has more than @most cells. The caller ends it
 * by time_cells_release(). */
void time_cells_init(struct time_cells *table, uint32_t most);
/* @table may be all zero. */
void time_cells_release(struct time_cells *table);

/*
 * The cell of the bucket that has @ns, of @thread and @node, which are below
 * the limits above. It stays there until the next call. NULL: there is no room.
 * *@hint, which the caller keeps for one node and which begins as 0, makes it
 * fast to find the same cell again.
 */
struct time_cell *time_cells_get(struct time_cells *table, uint32_t thread,
				 uint32_t node, uint64_t ns, uint32_t *hint);

/* Adds the time from @from to @to, in each bucket its part. */
void time_cells_add(struct time_cells *table, uint32_t thread, uint32_t node,
		    uint64_t from, uint64_t to, uint32_t *hint);

/* From now on buckets are so wide that all of the time from @from to @to is in
 * the table. */
void time_cells_reach(struct time_cells *table, uint64_t from, uint64_t to);

/* So much time and so many calls. */
struct time_amount {
	uint64_t ns, calls;
};

/* Spreads @amount evenly over the time from @from to @to. Nothing is lost by
 * rounding. */
void time_cells_spread(struct time_cells *table, uint32_t thread, uint32_t node,
		       uint64_t from, uint64_t to,
		       const struct time_amount *amount);

/* Sorts the cells by bucket, thread, node. Only time_cells_release(), and what
 * is below, may be called then. */
void time_cells_sort(struct time_cells *table);

/* Of a cell. */
static inline uint32_t time_cells_node(const struct time_cell *cell)
{
	return cell->key & (TIME_NODES_MAX - 1);
}

static inline uint32_t time_cells_thread(const struct time_cell *cell)
{
	return (cell->key >> 24) & (TIME_THREADS_MAX - 1);
}

/* 0 is the first bucket. */
static inline uint32_t time_cells_bucket(const struct time_cells *table,
					 const struct time_cell *cell)
{
	return ((cell->key >> 44) - table->first) & 1023;
}

/* How many buckets there are, up to TIME_BUCKETS_MAX. */
static inline uint32_t time_cells_buckets(const struct time_cells *table)
{
	return table->begun ? (uint32_t)(table->last - table->first + 1) : 0;
}

/* When bucket @number begins. */
static inline uint64_t time_cells_begin(const struct time_cells *table,
					uint32_t number)
{
	return (table->first + number) << table->shift;
}

#endif
