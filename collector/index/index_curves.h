/* SPDX-License-Identifier: Apache-2.0
 *
 * index_curves - what counters were like over time (docs/INDEX.md): for each of
 * them least, greatest and last value in buckets of time of 2^shift ns, counted
 * from time 0. Buckets without a value are in no list.
 *
 * A block of level 0 is 4,096 values of a counter, one of level N has four of
 * level N - 1. How wide its buckets are follows from its values: it has so many
 * buckets as fit in an eighth of a byte for each, and 32 at most. Values may
 * come in any order of time.
 *
 * There are bytes to spare where there are many packets beside few values
 * (index_curves_spare()). Then a block ends when it has 32 buckets, and may
 * have one for each value.
 *
 * Memory is bounded by a budget: where it is short, buckets are wider. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_INDEX_INDEX_CURVES_H
#define PERFREC_COLLECTOR_INDEX_INDEX_CURVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/bytes.h"
#include "collector/base/pool.h"
#include "collector/index/index_items.h"

struct budget;

#define INDEX_CURVE_LEVELS 16
#define INDEX_CURVE_SHIFT_MAX 62

/* Values are int64_t or double, by their bits. */
struct index_bucket {
	uint64_t number; /* its begin is number << shift */
	uint64_t last_ns;
	uint64_t min, max, last; /* min and max: NaN if there is nothing else */
	bool several; /* values, and not only one */
};

/* Whether @a is less than @b; neither is NaN. -0.0 is less than 0.0. */
bool index_curve_less(bool real, uint64_t a, uint64_t b);
bool index_curve_is_nan(bool real, uint64_t bits);
/* Adds what is in @from, of values that came later, to @to. */
void index_bucket_join(struct index_bucket *to, bool real,
		       const struct index_bucket *from);

struct index_curves {
	struct pool pool; /* of struct index_curve */
	bool apart; /* see INDEX_COUNTER */
	bool lost; /* a value was not taken: no more curves */
	uint64_t spare; /* bytes */
	struct bytes payload; /* of the item at hand */
};

/* Makes *@curves empty; @budget pays, and must outlive it. */
void index_curves_init(struct index_curves *curves, struct budget *budget,
		       bool apart);
void index_curves_release(struct index_curves *curves);

/* There were so many @bytes of packets without values. */
void index_curves_spare(struct index_curves *curves, uint64_t bytes);

struct index_count {
	uint64_t uuid; /* of the track */
	bool real; /* a double */
	uint64_t bits;
};

/* A counter had a value at @ns. Blocks that are full go to @items. */
void index_curves_take(struct index_curves *curves, uint64_t ns,
		       const struct index_count *count, struct bytes *items);
/* No values follow: puts all that is left, and that this is all, into @items.
 */
void index_curves_end(struct index_curves *curves, struct bytes *items);

/* What an INDEX_CURVE has in front of its buckets. */
struct index_curve_head {
	unsigned int level;
	bool apart;
	uint64_t curve, values;
	unsigned int shift;
	uint64_t first, last; /* buckets */
};

/* Takes the head off @item. False: it makes no sense. */
bool index_curve_head(struct index_get *item, struct index_curve_head *out);
/* Takes the next bucket off @item; *@out has the one before, at first all zero
 * but for head->first as number. False: there are no more, or what is left
 * makes no sense (item->bad). */
bool index_curve_next(struct index_get *item,
		      const struct index_curve_head *head, bool real,
		      struct index_bucket *out);

#endif
