/* SPDX-License-Identifier: Apache-2.0
 *
 * curve_check - compares an index's curves with the counters' values, which the
 * caller passes in the order of the trace.
 */
#ifndef PERFREC_TESTS_CURVE_CHECK_H
#define PERFREC_TESTS_CURVE_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/trace/index_curves.h"
#include "shared/compiler.h"

struct curve_check_value {
	uint64_t ns, bits;
};

struct curve_check_counter {
	uint64_t uuid, number;
	bool real, told;
	struct curve_check_value *values;
	uint64_t count, room;
	uint64_t covered[INDEX_CURVE_LEVELS]; /* values, by blocks of a level */
};

struct curve_check {
	struct curve_check_counter *counters;
	uint32_t count, room;
	bool ended;
	uint64_t blocks, upper; /* seen blocks: all, and those above level 0 */
};

static inline void curve_check_must(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "curves: %s\n", what);
	abort();
}

static inline void curve_check_release(struct curve_check *check)
{
	for (uint32_t i = 0; i < check->count; i++)
		free(check->counters[i].values);
	free(check->counters);
	*check = (struct curve_check){ 0 };
}

static inline struct curve_check_counter *curve_check_counter(
	struct curve_check *check, uint64_t uuid, bool real)
{
	uint32_t at = 0;

	while (at < check->count && (check->counters[at].uuid != uuid ||
				     check->counters[at].real != real))
		at++;
	if (at < check->count)
		return &check->counters[at];
	curve_check_must(!grow_array(check->counters, check->room, at + 1),
			 "no memory");
	check->counters[check->count++] =
		(struct curve_check_counter){ .uuid = uuid, .real = real };
	return &check->counters[at];
}

/* The packets contain a value of a counter. */
static inline void curve_check_value(struct curve_check *check, uint64_t uuid,
				     bool real, uint64_t bits, uint64_t ns)
{
	struct curve_check_counter *counter =
		curve_check_counter(check, uuid, real);

	curve_check_must(
		!grow_array(counter->values, counter->room, counter->count + 1),
		"no memory");
	counter->values[counter->count++] =
		(struct curve_check_value){ ns, bits };
}

static inline bool curve_check_is_nan(bool real, uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return real && isnan(value);
}

static inline bool curve_check_less(bool real, uint64_t a, uint64_t b)
{
	double x, y;

	if (!real)
		return (int64_t)a < (int64_t)b;
	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	return x < y || (x == y && signbit(x) && !signbit(y));
}

static inline bool curve_check_same(bool real, uint64_t a, uint64_t b)
{
	return a == b ||
	       (curve_check_is_nan(real, a) && curve_check_is_nan(real, b));
}

/* Compares values @from to @to - 1 in @bucket. Returns their number. */
static inline uint64_t curve_check_bucket(
	const struct curve_check_counter *counter, uint64_t from, uint64_t to,
	const struct index_bucket *bucket, unsigned int shift)
{
	uint64_t min = 0, max = 0, last = 0, last_ns = 0, count = 0;
	bool real = counter->real;

	for (; from < to; from++) {
		const struct curve_check_value *at = &counter->values[from];

		if (at->ns >> shift != bucket->number)
			continue;
		if (!count++)
			min = max = at->bits;
		if (curve_check_is_nan(real, min))
			min = max = at->bits;
		if (!curve_check_is_nan(real, at->bits)) {
			min = curve_check_less(real, at->bits, min) ? at->bits
								    : min;
			max = curve_check_less(real, max, at->bits) ? at->bits
								    : max;
		}
		if (at->ns >= last_ns) {
			last_ns = at->ns;
			last = at->bits;
		}
	}
	curve_check_must(count, "a bucket without a value");
	curve_check_must(curve_check_same(real, min, bucket->min),
			 "another least value");
	curve_check_must(curve_check_same(real, max, bucket->max),
			 "another greatest value");
	curve_check_must(last_ns == bucket->last_ns && last == bucket->last,
			 "another last value");
	curve_check_must(bucket->several == (count > 1), "one or several");
	return count;
}

static inline void curve_check_block(struct curve_check *check,
				     struct index_get *get)
{
	struct curve_check_counter *counter = NULL;
	struct index_curve_head head;
	struct index_bucket bucket;
	uint64_t from, to, values = 0;

	curve_check_must(index_curve_head(get, &head), "no block");
	for (uint32_t i = 0; i < check->count; i++)
		if (check->counters[i].told &&
		    check->counters[i].number == head.curve)
			counter = &check->counters[i];
	curve_check_must(counter, "a counter that was not told");
	from = counter->covered[head.level];
	to = from + head.values;
	curve_check_must(head.level ? to == counter->covered[0]
				    : to <= counter->count,
			 "a block of other values");
	counter->covered[head.level] = to;
	bucket = (struct index_bucket){ .number = head.first };
	while (index_curve_next(get, &head, counter->real, &bucket))
		values += curve_check_bucket(counter, from, to, &bucket,
					     head.shift);
	curve_check_must(!get->bad && values == head.values &&
				 bucket.number == head.last,
			 "values in no bucket");
	check->blocks++;
	check->upper += head.level != 0;
}

/* Ignores items of other kinds. */
static inline void curve_check_item(struct curve_check *check, uint32_t kind,
				    struct index_get get)
{
	struct curve_check_counter *counter;
	uint64_t number, uuid;

	if (kind == INDEX_CURVE)
		curve_check_block(check, &get);
	if (kind == INDEX_COUNTER) {
		index_get_number(&get);
		number = index_get_number(&get);
		uuid = index_get_number(&get);
		counter = curve_check_counter(check, uuid,
					      index_get_number(&get));
		curve_check_must(!counter->told, "a counter is told twice");
		counter->told = true;
		counter->number = number;
	}
	if (kind != INDEX_CURVES_END)
		return;
	check->ended = true;
	for (uint32_t i = 0; i < check->count; i++)
		curve_check_must(check->counters[i].covered[0] ==
					 check->counters[i].count,
				 "values in no curve");
}

#endif
