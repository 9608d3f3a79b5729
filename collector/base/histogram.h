/* SPDX-License-Identifier: Apache-2.0
 *
 * histogram - how often which value came, in buckets that grow with the value.
 * Each octave [2^k, 2^(k+1)) has 64 buckets of the same width; below 128 each
 * value has a bucket of its own. So a bucket is at most 1/64 of its values
 * wide, and its middle is at most 1/128 (0.8 %) off, over all of uint64_t.
 *
 * Only the octaves from the least to the greatest value have memory: durations
 * of a function lie in few octaves. Memory comes from a budget; values that
 * find no room are counted as missed.
 *
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_BASE_HISTOGRAM_H
#define PERFREC_COLLECTOR_BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/compiler.h"

struct budget;
struct bytes;

#define HISTOGRAM_OCTAVE_BITS 6
#define HISTOGRAM_OCTAVE 64u /* buckets */
#define HISTOGRAM_OCTAVES 59u
#define HISTOGRAM_BUCKETS (HISTOGRAM_OCTAVES * HISTOGRAM_OCTAVE)

/* All zero, but for budget: empty. */
struct histogram {
	uint64_t first; /* the least value that there is room for */
	uint64_t limit; /* histogram_add() counts values from first on that are
			 * less than limit above it: none that there is no room
			 * for, and none that is a new maximum */
	uint16_t *low; /* HISTOGRAM_OCTAVE counts of each octave */
	uint32_t first_bucket; /* in low[0] */
	uint32_t octaves; /* that have memory */
	uint64_t *weight; /* of each octave: what its values weigh */
	uint64_t *high; /* the rest of the counts, in units of 65536; NULL: no
			 * count is that large */
	uint64_t max; /* the greatest value, also of those missed */
	struct budget *budget; /* NULL: nothing bounds its memory */
	uint64_t missed; /* values that found no room */
};

/* The bucket of @value. */
static inline uint32_t histogram_bucket(uint64_t value)
{
	/* The xor is how compilers ask for the number of the highest bit. */
	uint32_t shift = (63 ^ (uint32_t)__builtin_clzll(value | 64)) - 6;

	return (shift << HISTOGRAM_OCTAVE_BITS) + (uint32_t)(value >> shift);
}

/* The least value of @bucket, below HISTOGRAM_BUCKETS. */
uint64_t histogram_low(uint32_t bucket);
/* How many values @bucket has: a power of two. */
uint64_t histogram_width(uint32_t bucket);

/* For histogram_add() only: counts a value outside of first and limit. */
void histogram_add_slow(struct histogram *histogram, uint64_t value,
			uint64_t weight);
/* The same: the low half of the count of @bucket has wrapped. */
void histogram_carry(struct histogram *histogram, uint32_t bucket);

/* Counts @value, and adds @weight to what the values of its octave weigh. */
static inline void histogram_add_weight(struct histogram *histogram,
					uint64_t value, uint64_t weight)
{
	uint32_t bucket = histogram_bucket(value), at;

	if (unlikely(value - histogram->first >= histogram->limit)) {
		histogram_add_slow(histogram, value, weight);
		return;
	}
	at = bucket - histogram->first_bucket;
	histogram->weight[at >> HISTOGRAM_OCTAVE_BITS] += weight;
	if (unlikely(!++histogram->low[at]))
		histogram_carry(histogram, bucket);
}

/* Counts @value. */
static inline void histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram_add_weight(histogram, value, 0);
}

/* Counts @value @count times. */
void histogram_add_many(struct histogram *histogram, uint64_t value,
			uint64_t count);

/* Adds all of @from to @to. @from is empty after it: where @to has nothing and
 * the budget is the same, its memory moves. */
void histogram_merge(struct histogram *to, struct histogram *from);
/* Frees its memory: it is empty, with the same budget. */
void histogram_release(struct histogram *histogram);

/* Finds the next bucket from *@bucket on that has a count. Sets both and
 * returns true; or returns false: there is none. Begin with 0, and go on with
 * *@bucket + 1. */
bool histogram_next(const struct histogram *histogram, uint32_t *bucket,
		    uint64_t *count);
/* The sum of the weights in the octave of @bucket, which has a count. */
uint64_t histogram_weight(const struct histogram *histogram, uint32_t bucket);
/* How many values are counted, without those missed. */
uint64_t histogram_total(const struct histogram *histogram);
/*
 * The value below or at which @per_mille thousandths of all lie: that of rank
 * total * @per_mille / 1000, rounded up and 1 at least, counted from the least.
 * The greatest value is exact; others are the middle of their bucket, but never
 * above the maximum: exact below 128, else off by 0.8 % at most. 0 if there are
 * no values.
 */
uint64_t histogram_quantile(const struct histogram *histogram,
			    uint32_t per_mille);
/* Appends "LOW:COUNT LOW:COUNT ..." with the least value and the count of each
 * bucket that has any, in their order. No NUL; nothing if there are none. */
void histogram_text(const struct histogram *histogram, struct bytes *out);

#endif
