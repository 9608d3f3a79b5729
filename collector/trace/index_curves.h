/* SPDX-License-Identifier: Apache-2.0
 *
 * index_curves - the values of counters over time (docs/TRACE.md): the least,
 * the greatest and the last value in each bucket of 2^shift ns, counted from
 * time 0. Buckets without a value are not stored.
 *
 * A block of level 0 has 4,096 values of a counter, a block of level N four of
 * level N - 1. It has at most 32 buckets, in one byte for 8 of its values.
 * Values may come in any order of time.
 *
 * If there are many packets beside few values, bytes are to spare
 * (index_curves_spare()). A block then ends when it has 32 buckets, so that
 * each value may have its own.
 *
 * A budget bounds the memory: without memory, buckets get wider. One thread at
 * a time.
 */
#ifndef PERFREC_COLLECTOR_TRACE_INDEX_CURVES_H
#define PERFREC_COLLECTOR_TRACE_INDEX_CURVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/bytes.h"
#include "collector/base/pool.h"
#include "collector/trace/index_items.h"

struct budget;

#define INDEX_CURVE_LEVELS 16
#define INDEX_CURVE_SHIFT_MAX 62

/* Values are the bits of an int64_t or a double. */
struct index_bucket {
	uint64_t number; /* begins at number << shift */
	uint64_t last_ns;
	uint64_t min, max, last; /* min, max: NaN only if all values are */
	bool several;
};

/* Returns true if @a is less than @b; neither is NaN. -0.0 is less than 0.0. */
bool index_curve_less(bool real, uint64_t a, uint64_t b);
bool index_curve_is_nan(bool real, uint64_t bits);
/* Merges @from, whose values came later, into @to. */
void index_bucket_join(struct index_bucket *to, bool real,
		       const struct index_bucket *from);

struct index_curves {
	struct pool pool;
	bool apart;
	bool lost; /* a value was lost: no more curves */
	uint64_t spare; /* bytes that blocks may use beyond their limits */
	struct bytes payload;
};

/* @budget pays and must outlive *@curves. */
void index_curves_init(struct index_curves *curves, struct budget *budget,
		       bool apart);
void index_curves_release(struct index_curves *curves);

/* Reports @bytes of packets without values. */
void index_curves_spare(struct index_curves *curves, uint64_t bytes);

struct index_count {
	uint64_t uuid;
	bool real;
	uint64_t bits;
};

/* Adds a value of a counter at @ns. Appends complete blocks to @items. */
void index_curves_take(struct index_curves *curves, uint64_t ns,
		       const struct index_count *count, struct bytes *items);
/* Appends all remaining blocks to @items, and an INDEX_CURVES_END if no value
 * was lost. No values may follow. */
void index_curves_end(struct index_curves *curves, struct bytes *items);

/* The fields of an INDEX_CURVE before its buckets. */
struct index_curve_head {
	unsigned int level;
	bool apart;
	uint64_t curve, values;
	unsigned int shift;
	uint64_t first, last;
};

bool index_curve_head(struct index_get *item, struct index_curve_head *out);
/* Reads the next bucket of @item. *@out holds the bucket before; at first it is
 * all zero except number, which is head->first. Returns false at the end, or if
 * the rest is invalid (item->bad). */
bool index_curve_next(struct index_get *item,
		      const struct index_curve_head *head, bool real,
		      struct index_bucket *out);

#endif
