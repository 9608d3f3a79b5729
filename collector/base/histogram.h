/* SPDX-License-Identifier: Apache-2.0
 *
 * histogram - counts of values in buckets that grow with the value. Each octave
 * [2^k, 2^(k+1)) has 64 buckets of equal width; below 128 each value has its
 * own bucket. So a bucket is at most 1/64 of its values wide, and its middle is
 * off by at most 1/128 (0.8 %), over all of uint64_t.
 *
 * Only the octaves from the least to the greatest value have memory, because
 * the durations of a function lie in few octaves. Memory comes from a budget;
 * values without room are counted as missed.
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
#define HISTOGRAM_OCTAVE 64u
#define HISTOGRAM_OCTAVES 59u
#define HISTOGRAM_BUCKETS (HISTOGRAM_OCTAVES * HISTOGRAM_OCTAVE)

/* All zero except budget: empty. */
struct histogram {
	uint64_t first; /* the least value with room */
	uint64_t limit; /* width of the range of histogram_add()'s fast path:
			 * values in it have room and are no new maximum */
	uint16_t *low; /* HISTOGRAM_OCTAVE counts of each octave */
	uint32_t first_bucket;
	uint32_t octaves; /* octaves with memory */
	uint64_t *weight; /* of each octave */
	uint64_t *high; /* upper parts of the counts, in units of 65536; NULL:
			 * all counts are smaller */
	uint64_t max; /* the greatest value, missed ones included */
	struct budget *budget; /* NULL: unlimited */
	uint64_t missed;
};

static inline uint32_t histogram_bucket(uint64_t value)
{
	/* Compilers turn the xor into one instruction for the highest bit. */
	uint32_t shift = (63 ^ (uint32_t)__builtin_clzll(value | 64)) - 6;

	return (shift << HISTOGRAM_OCTAVE_BITS) + (uint32_t)(value >> shift);
}

uint64_t histogram_low(uint32_t bucket);
/* Returns the number of values of @bucket, a power of two. */
uint64_t histogram_width(uint32_t bucket);

/* Slow path of histogram_add(), for values outside first and limit. */
void histogram_add_slow(struct histogram *histogram, uint64_t value,
			uint64_t weight);
/* For histogram_add(): the low half of the count of @bucket has wrapped. */
void histogram_carry(struct histogram *histogram, uint32_t bucket);

/* Counts @value and adds @weight to the weight of its octave. */
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

static inline void histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram_add_weight(histogram, value, 0);
}

void histogram_add_many(struct histogram *histogram, uint64_t value,
			uint64_t count);

/* Moves all counts of @from to @to; @from is empty afterwards. If @to is empty
 * and has the same budget, it takes the memory of @from. */
void histogram_merge(struct histogram *to, struct histogram *from);
/* Frees the memory; the histogram is empty with the same budget. */
void histogram_release(struct histogram *histogram);

/* Finds the next bucket with a count at or after *@bucket. Sets both and
 * returns true, or returns false at the end. Start with 0, continue with
 * *@bucket + 1. */
bool histogram_next(const struct histogram *histogram, uint32_t *bucket,
		    uint64_t *count);
/* Returns the sum of weights in the octave of @bucket, which has a count. */
uint64_t histogram_weight(const struct histogram *histogram, uint32_t bucket);
uint64_t histogram_total(const struct histogram *histogram);
/*
 * Returns the value of rank total * @per_mille / 1000, rounded up and at least
 * 1, counted from the least value. The greatest value is exact. Others are the
 * middle of their bucket but at most the maximum: exact below 128, else off by
 * at most 0.8 %. Returns 0 for an empty histogram.
 */
uint64_t histogram_quantile(const struct histogram *histogram,
			    uint32_t per_mille);
/* Appends "LOW:COUNT LOW:COUNT ...", the least value and the count of each
 * bucket with a count, in order. No NUL. */
void histogram_text(const struct histogram *histogram, struct bytes *out);

#endif
