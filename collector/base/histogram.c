/* SPDX-License-Identifier: Apache-2.0
 *
 * histogram - nearly all counts fit into 16 bits, so an octave and its weight
 * take 136 bytes. When the first count of a histogram overflows, all counts of
 * that histogram get 64 bits more: few functions are called so often. 16 bits
 * overflow at most once in 65536 values.
 *
 * The octaves with memory have no gaps. Gaps would save a third of the memory,
 * but then each value would need a lookup of its octave. Without gaps one
 * comparison checks both the room and the maximum.
 */
#include "collector/base/histogram.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/bytes.h"

#define LOW_BYTES (HISTOGRAM_OCTAVE * sizeof(uint16_t))
#define HIGH_BYTES (HISTOGRAM_OCTAVE * sizeof(uint64_t))
#define WEIGHT_BYTES sizeof(uint64_t)
#define LOW_VALUES 65536u
#define ENTRY_BYTES 48

static uint32_t shift_of(uint32_t bucket)
{
	uint32_t octave = bucket >> HISTOGRAM_OCTAVE_BITS;

	return octave ? octave - 1 : 0;
}

uint64_t histogram_low(uint32_t bucket)
{
	uint32_t shift = shift_of(bucket);

	return (uint64_t)(bucket - (shift << HISTOGRAM_OCTAVE_BITS)) << shift;
}

uint64_t histogram_width(uint32_t bucket)
{
	return UINT64_C(1) << shift_of(bucket);
}

/* --- memory -------------------------------------------------------------- */

static bool take(const struct histogram *histogram, size_t bytes)
{
	return !histogram->budget || budget_take(histogram->budget, bytes);
}

static void give(const struct histogram *histogram, size_t bytes)
{
	if (histogram->budget)
		budget_give(histogram->budget, bytes);
}

static uint32_t end_bucket(const struct histogram *histogram)
{
	return histogram->first_bucket + histogram->octaves * HISTOGRAM_OCTAVE;
}

static size_t octave_bytes(const struct histogram *histogram)
{
	return LOW_BYTES + WEIGHT_BYTES + (histogram->high ? HIGH_BYTES : 0);
}

/* Sets the range of values for the fast path of histogram_add(). */
static void set_limits(struct histogram *histogram)
{
	uint32_t last = end_bucket(histogram) - 1;
	uint64_t most = histogram_low(last) + (histogram_width(last) - 1);

	histogram->first = histogram_low(histogram->first_bucket);
	/* 0 if the range is all of uint64_t: then each value takes the slow
	 * path. */
	histogram->limit = MIN(histogram->max, most) - histogram->first + 1;
}

/* Moves the counts to new memory for @octaves from bucket @first on, which
 * include the old octaves. Returns false without memory. */
static bool move_to(struct histogram *histogram, uint32_t first,
		    uint32_t octaves)
{
	size_t more = (octaves - histogram->octaves) * octave_bytes(histogram);
	size_t at = histogram->first_bucket - first;
	uint16_t *low;
	uint64_t *high = NULL, *weight;

	if (!take(histogram, more))
		return false;
	low = calloc(octaves, LOW_BYTES);
	weight = calloc(octaves, WEIGHT_BYTES);
	if (histogram->high)
		high = calloc(octaves, HIGH_BYTES);
	if (!low || !weight || (histogram->high && !high)) {
		free(low);
		free(weight);
		free(high);
		give(histogram, more);
		return false;
	}
	if (histogram->octaves) {
		memcpy(low + at, histogram->low,
		       histogram->octaves * LOW_BYTES);
		memcpy(weight + at / HISTOGRAM_OCTAVE, histogram->weight,
		       histogram->octaves * WEIGHT_BYTES);
	}
	if (high)
		memcpy(high + at, histogram->high,
		       histogram->octaves * HIGH_BYTES);
	free(histogram->low);
	free(histogram->weight);
	free(histogram->high);
	histogram->low = low;
	histogram->weight = weight;
	histogram->high = high;
	histogram->first_bucket = first;
	histogram->octaves = octaves;
	return true;
}

/* Adds the octave of @bucket and all between it and the others. Returns false
 * without memory. */
static bool add_room(struct histogram *histogram, uint32_t bucket)
{
	uint32_t first = bucket / HISTOGRAM_OCTAVE * HISTOGRAM_OCTAVE;
	uint32_t end = first + HISTOGRAM_OCTAVE;

	if (histogram->octaves) {
		first = MIN(first, histogram->first_bucket);
		end = MAX(end, end_bucket(histogram));
	} else {
		histogram->first_bucket = first;
	}
	return move_to(histogram, first, (end - first) / HISTOGRAM_OCTAVE);
}

void histogram_release(struct histogram *histogram)
{
	give(histogram, histogram->octaves * octave_bytes(histogram));
	free(histogram->low);
	free(histogram->weight);
	free(histogram->high);
	*histogram = (struct histogram){ .budget = histogram->budget };
}

/* --- counts -------------------------------------------------------------- */

static void add_to_high(struct histogram *histogram, uint32_t bucket,
			uint64_t count)
{
	size_t bytes = histogram->octaves * HIGH_BYTES;

	if (!count)
		return;
	if (!histogram->high && take(histogram, bytes)) {
		histogram->high = calloc(1, bytes);
		if (!histogram->high)
			give(histogram, bytes);
	}
	if (histogram->high)
		histogram->high[bucket - histogram->first_bucket] += count;
	else
		histogram->missed += count * LOW_VALUES;
}

void histogram_carry(struct histogram *histogram, uint32_t bucket)
{
	add_to_high(histogram, bucket, 1);
}

static void add_count(struct histogram *histogram, uint32_t bucket,
		      uint64_t count, uint64_t weight)
{
	uint16_t *low;
	uint64_t sum;

	if ((bucket < histogram->first_bucket ||
	     bucket >= end_bucket(histogram)) &&
	    !add_room(histogram, bucket)) {
		histogram->missed += count;
		return;
	}
	histogram->weight[(bucket - histogram->first_bucket) /
			  HISTOGRAM_OCTAVE] += weight;
	low = &histogram->low[bucket - histogram->first_bucket];
	sum = *low + count % LOW_VALUES;
	*low = (uint16_t)sum;
	add_to_high(histogram, bucket, count / LOW_VALUES + sum / LOW_VALUES);
}

static void add_value(struct histogram *histogram, uint64_t value,
		      uint64_t count, uint64_t weight)
{
	histogram->max = MAX(histogram->max, value);
	add_count(histogram, histogram_bucket(value), count, weight);
	if (histogram->octaves)
		set_limits(histogram);
}

void histogram_add_slow(struct histogram *histogram, uint64_t value,
			uint64_t weight)
{
	add_value(histogram, value, 1, weight);
}

void histogram_add_many(struct histogram *histogram, uint64_t value,
			uint64_t count)
{
	add_value(histogram, value, count, 0);
}

/* Moves all of @from to the empty @to. */
static void move_all(struct histogram *to, struct histogram *from)
{
	uint64_t max = MAX(to->max, from->max);
	uint64_t missed = to->missed + from->missed;

	*to = *from;
	to->max = max;
	to->missed = missed;
	if (to->octaves)
		set_limits(to);
	*from = (struct histogram){ .budget = to->budget };
}

void histogram_merge(struct histogram *to, struct histogram *from)
{
	uint32_t octave = UINT32_MAX;
	uint64_t count;

	if (!to->octaves && to->budget == from->budget) {
		move_all(to, from);
		return;
	}
	for (uint32_t bucket = 0; histogram_next(from, &bucket, &count);
	     bucket++) {
		/* The first value carries the weight of the octave. */
		bool first = bucket / HISTOGRAM_OCTAVE != octave;

		octave = bucket / HISTOGRAM_OCTAVE;
		add_count(to, bucket, count,
			  first ? histogram_weight(from, bucket) : 0);
	}
	to->max = MAX(to->max, from->max);
	to->missed += from->missed;
	if (to->octaves)
		set_limits(to);
	histogram_release(from);
}

/* --- results -------------------------------------------------------------- */

bool histogram_next(const struct histogram *histogram, uint32_t *bucket,
		    uint64_t *count)
{
	uint32_t at = MAX(*bucket, histogram->first_bucket), place;

	for (; at < end_bucket(histogram); at++) {
		place = at - histogram->first_bucket;
		*count = histogram->low[place];
		if (histogram->high)
			*count += histogram->high[place] * LOW_VALUES;
		if (*count) {
			*bucket = at;
			return true;
		}
	}
	return false;
}

uint64_t histogram_weight(const struct histogram *histogram, uint32_t bucket)
{
	return histogram
		->weight[(bucket - histogram->first_bucket) / HISTOGRAM_OCTAVE];
}

uint64_t histogram_total(const struct histogram *histogram)
{
	uint64_t total = 0, count;

	for (uint32_t bucket = 0; histogram_next(histogram, &bucket, &count);
	     bucket++)
		total += count;
	return total;
}

uint64_t histogram_quantile(const struct histogram *histogram,
			    uint32_t per_mille)
{
	uint64_t total = histogram_total(histogram), passed = 0, count, middle;
	uint64_t rank = total / 1000 * per_mille +
			(total % 1000 * per_mille + 999) / 1000;

	rank = MAX(rank, (uint64_t)1);
	for (uint32_t bucket = 0; histogram_next(histogram, &bucket, &count);
	     bucket++) {
		passed += count;
		if (passed < rank)
			continue;
		if (rank == total)
			return histogram->max;
		middle = histogram_low(bucket) +
			 (histogram_width(bucket) - 1) / 2;
		return MIN(middle, histogram->max);
	}
	return 0;
}

void histogram_text(const struct histogram *histogram, struct bytes *out)
{
	char text[ENTRY_BYTES];
	uint64_t count;
	bool first = true;

	for (uint32_t bucket = 0; histogram_next(histogram, &bucket, &count);
	     bucket++) {
		int length = snprintf(
			text, sizeof(text), "%s%" PRIu64 ":%" PRIu64,
			first ? "" : " ", histogram_low(bucket), count);

		bytes_put(out, text, (size_t)length);
		first = false;
	}
}
