/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/histogram.h"

#include <inttypes.h>

#include "collector/base/budget.h"
#include "collector/base/bytes.h"
#include "tests/random.h"
#include "tests/suite.h"

#define VALUES 20000
#define BUDGET_BYTES 1000000
#define OCTAVE_BYTES (64 * 2 + 8) /* counts and the weight */

static uint64_t random_value(uint64_t *state)
{
	uint64_t value = next_random(state);

	return value >> (next_random(state) % 64);
}

static int compare_values(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_close(uint64_t value, uint64_t exact)
{
	uint64_t off = value > exact ? value - exact : exact - value;

	return exact < 128 ? !off : off <= exact / 128;
}

/* The rank that the header promises, computed differently. */
static size_t rank(size_t count, unsigned int per_mille)
{
	size_t at = 1;

	while (at * 1000 < count * per_mille)
		at++;
	return at;
}

static char *text_of(const struct histogram *histogram)
{
	struct bytes bytes = { 0 };

	histogram_text(histogram, &bytes);
	bytes_put(&bytes, "", 1);
	ck_assert(!bytes.failed);
	return (char *)bytes.at;
}

static void assert_text(const struct histogram *histogram, const char *text)
{
	char *found = text_of(histogram);

	ck_assert_str_eq(found, text);
	free(found);
}

TEST(histogram_has_each_value_in_one_bucket)
{
	uint64_t low = 0;

	for (uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
		uint64_t width = histogram_width(bucket);

		ck_assert_uint_eq(histogram_low(bucket), low);
		ck_assert_uint_eq(histogram_bucket(low), bucket);
		ck_assert_uint_eq(histogram_bucket(low + width - 1), bucket);
		if (low >= 128)
			ck_assert_uint_le(width, low / 64);
		else
			ck_assert_uint_eq(width, 1);
		low += width; /* 0 again after the last bucket */
	}
	ck_assert_uint_eq(low, 0);
}

TEST(histogram_counts_at_the_ends_of_each_bucket)
{
	for (uint32_t octave = 0; octave < 64; octave++) {
		struct histogram histogram = { 0 };
		uint64_t low = UINT64_C(1) << octave;
		uint64_t most = low + (low - 1);
		uint64_t second = low + histogram_width(histogram_bucket(low));
		const uint64_t values[] = { most, low, second - 1, second,
					    most };
		uint32_t bucket = 0;
		uint64_t count, sum = 0;

		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			histogram_add(&histogram, values[i]);
			histogram_add(&histogram, values[i]);
		}
		for (; histogram_next(&histogram, &bucket, &count); bucket++) {
			uint64_t expected = 0;

			for (size_t i = 0; i < ARRAY_SIZE(values); i++)
				expected +=
					histogram_bucket(values[i]) == bucket;
			ck_assert_uint_eq(count, 2 * expected);
			sum += count;
		}
		ck_assert_uint_eq(sum, 2 * ARRAY_SIZE(values));
		histogram_release(&histogram);
	}
}

static void check_quantiles(const struct histogram *histogram, uint64_t *values,
			    size_t count)
{
	static const unsigned int asked[] = { 0,   1,	10,  250, 500,
					      900, 990, 999, 1000 };

	qsort(values, count, sizeof(*values), compare_values);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		uint64_t exact = values[rank(count, asked[i]) - 1];
		uint64_t found = histogram_quantile(histogram, asked[i]);

		ck_assert_msg(is_close(found, exact),
			      "%u of 1000: %" PRIu64 ", not %" PRIu64, asked[i],
			      found, exact);
	}
	ck_assert_uint_eq(histogram_total(histogram), count);
	ck_assert_uint_eq(histogram->max, values[count - 1]);
	ck_assert_uint_eq(histogram->missed, 0);
}

TEST(histogram_has_the_quantiles_of_a_sorted_array)
{
	static const size_t counts[] = { 1, 2, 3, 99, 100, 101, 1000, VALUES };
	uint64_t state = 14, *values = calloc(VALUES, sizeof(*values));

	for (size_t n = 0; n < ARRAY_SIZE(counts); n++) {
		struct budget budget = { .left = BUDGET_BYTES };
		struct histogram histogram = { .budget = &budget };

		for (size_t i = 0; i < counts[n]; i++) {
			values[i] = random_value(&state);
			histogram_add(&histogram, values[i]);
		}
		check_quantiles(&histogram, values, counts[n]);
		histogram_release(&histogram);
		ck_assert_uint_eq(budget.left, BUDGET_BYTES);
	}
	free(values);
}

TEST(histogram_takes_0_and_the_greatest_number)
{
	struct histogram histogram = { 0 };

	for (int i = 0; i < 3; i++) {
		histogram_add(&histogram, UINT64_MAX);
		histogram_add(&histogram, 0);
	}
	ck_assert_uint_eq(histogram.octaves, HISTOGRAM_OCTAVES);
	ck_assert_uint_eq(histogram.max, UINT64_MAX);
	ck_assert_uint_eq(histogram_quantile(&histogram, 500), 0);
	ck_assert(is_close(histogram_quantile(&histogram, 1000), UINT64_MAX));
	assert_text(&histogram, "0:3 18302628885633695744:3");
	histogram_release(&histogram);
}

TEST(histogram_of_nothing_says_nothing)
{
	struct histogram histogram = { 0 }, other = { 0 };
	uint32_t bucket = 0;
	uint64_t count;

	ck_assert_uint_eq(histogram_total(&histogram), 0);
	ck_assert_uint_eq(histogram_quantile(&histogram, 500), 0);
	ck_assert(!histogram_next(&histogram, &bucket, &count));
	assert_text(&histogram, "");
	histogram_merge(&histogram, &other);
	ck_assert_uint_eq(histogram_total(&histogram), 0);
	histogram_release(&histogram);
}

/* A bucket's middle may exceed the maximum. */
TEST(histogram_of_one_value_says_no_more_than_it)
{
	struct histogram histogram = { 0 };

	histogram_add(&histogram, 1u << 20);
	ck_assert_uint_eq(histogram_quantile(&histogram, 500), 1u << 20);
	ck_assert_uint_eq(histogram_quantile(&histogram, 990), 1u << 20);
	histogram_release(&histogram);
}

/* A count has 16 bits, plus 64 bits on overflow. */
TEST(histogram_counts_more_than_16_bits)
{
	struct budget budget = { .left = BUDGET_BYTES };
	struct histogram histogram = { .budget = &budget };

	for (int i = 0; i < 200000; i++)
		histogram_add(&histogram, 100);
	ck_assert_ptr_nonnull(histogram.high);
	histogram_add(&histogram, 5); /* both halves move */
	histogram_add(&histogram, 5000);
	assert_text(&histogram, "5:1 100:200000 4992:1");
	histogram_release(&histogram);
	ck_assert_uint_eq(budget.left, BUDGET_BYTES);
}

/* --- merging --- */

static void add_values(struct histogram *one, struct histogram *both, int count,
		       uint64_t *state)
{
	for (int i = 0; i < count; i++) {
		uint64_t value = random_value(state);

		histogram_add_weight(one, value, value % 7);
		histogram_add_weight(both, value, value % 7);
	}
}

static void check_weights(const struct histogram *one,
			  const struct histogram *two)
{
	uint64_t count, all = 0;

	for (uint32_t bucket = 0; histogram_next(one, &bucket, &count);
	     bucket++) {
		ck_assert_uint_eq(histogram_weight(one, bucket),
				  histogram_weight(two, bucket));
		all += histogram_weight(one, bucket);
	}
	ck_assert_uint_gt(all, 0);
}

TEST(histogram_merged_is_that_of_all_values)
{
	struct budget budget = { .left = BUDGET_BYTES };
	struct histogram sum = { .budget = &budget }, both = { 0 };
	uint64_t state = 5;
	char *found, *expected;

	for (int round = 0; round < 5; round++) {
		struct histogram part = { .budget = &budget };

		add_values(&part, &both, 500, &state);
		/* One count exceeds 16 bits in the parts and in the sum. */
		for (int i = 0; i < 70000; i++) {
			histogram_add(&part, 77);
			histogram_add(&both, 77);
		}
		histogram_merge(&sum, &part);
		ck_assert_uint_eq(part.octaves, 0);
		ck_assert_uint_eq(histogram_total(&part), 0);
		histogram_release(&part);
	}
	check_weights(&sum, &both);
	found = text_of(&sum);
	expected = text_of(&both);
	ck_assert_str_eq(found, expected);
	ck_assert_uint_eq(sum.max, both.max);
	ck_assert_uint_eq(sum.missed, 0);
	free(found);
	free(expected);
	histogram_add(&sum, 3);
	histogram_add(&sum, UINT64_MAX);
	ck_assert_uint_eq(histogram_total(&sum), histogram_total(&both) + 2);
	histogram_release(&sum);
	histogram_release(&both);
	ck_assert_uint_eq(budget.left, BUDGET_BYTES);
}

/* Each part stays below 16 bits; the sum does not. */
TEST(histogram_merged_carries)
{
	struct histogram sum = { 0 };

	for (int round = 0; round < 4; round++) {
		struct histogram part = { 0 };

		for (int i = 0; i < 60000; i++)
			histogram_add(&part, 9);
		histogram_merge(&sum, &part);
	}
	assert_text(&sum, "9:240000");
	histogram_release(&sum);
}

TEST(histogram_takes_over_the_memory_of_the_first)
{
	struct budget budget = { .left = BUDGET_BYTES };
	struct histogram sum = { .budget = &budget };
	struct histogram part = { .budget = &budget };
	const uint16_t *low;
	uint64_t left;

	histogram_add(&part, 1000);
	low = part.low;
	left = budget.left;
	histogram_merge(&sum, &part);
	ck_assert_ptr_eq(sum.low, low);
	ck_assert_uint_eq(budget.left, left);
	histogram_release(&part);
	histogram_release(&sum);
	ck_assert_uint_eq(budget.left, BUDGET_BYTES);
}

TEST(histogram_of_another_budget_is_copied)
{
	struct budget one = { .left = BUDGET_BYTES }, other = one;
	struct histogram sum = { .budget = &one }, part = { .budget = &other };

	histogram_add(&part, 1000);
	histogram_merge(&sum, &part);
	ck_assert_uint_eq(other.left, BUDGET_BYTES);
	ck_assert_uint_lt(one.left, BUDGET_BYTES);
	assert_text(&sum, "1000:1");
	histogram_release(&sum);
	ck_assert_uint_eq(one.left, BUDGET_BYTES);
}

/* --- no memory --- */

TEST(histogram_without_memory_counts_what_it_misses)
{
	struct budget budget = { .left = 0 };
	struct histogram histogram = { .budget = &budget };

	histogram_add(&histogram, 0);
	histogram_add(&histogram, 7000);
	histogram_add(&histogram, 500);
	ck_assert_uint_eq(histogram.missed, 3);
	ck_assert_uint_eq(histogram.max, 7000);
	ck_assert_uint_eq(histogram_total(&histogram), 0);
	histogram_release(&histogram);
	ck_assert_uint_eq(budget.left, 0);
}

TEST(histogram_goes_on_with_the_octaves_that_it_has)
{
	struct budget budget = { .left = OCTAVE_BYTES }; /* one octave */
	struct histogram histogram = { .budget = &budget };

	histogram_add(&histogram, 1000);
	histogram_add(&histogram, 90000);
	histogram_add(&histogram, 1);
	histogram_add(&histogram, 600);
	histogram_add(&histogram, 1000);
	ck_assert_uint_eq(histogram.missed, 2);
	ck_assert_uint_eq(histogram.max, 90000);
	assert_text(&histogram, "600:1 1000:2");
	ck_assert_uint_eq(budget.left, 0);
	histogram_release(&histogram);
	ck_assert_uint_eq(budget.left, OCTAVE_BYTES);
}

TEST(histogram_without_memory_for_a_carry_misses_all_of_it)
{
	struct budget budget = { .left = OCTAVE_BYTES };
	struct histogram histogram = { .budget = &budget };

	for (int i = 0; i < 65536 + 10; i++)
		histogram_add(&histogram, 1);
	ck_assert_uint_eq(histogram.missed, 65536);
	ck_assert_uint_eq(histogram_total(&histogram), 10);
	histogram_release(&histogram);
}

TEST(histogram_merged_without_memory_says_so)
{
	struct budget none = { .left = 0 };
	struct histogram sum = { .budget = &none }, part = { 0 };

	histogram_add(&part, 12);
	histogram_add(&part, 12000);
	histogram_merge(&sum, &part);
	ck_assert_uint_eq(sum.missed, 2);
	ck_assert_uint_eq(sum.max, 12000);
	ck_assert_uint_eq(histogram_total(&sum), 0);
	histogram_add(&sum, 3);
	ck_assert_uint_eq(sum.missed, 3);
	histogram_release(&sum);
}

TEST(histogram_with_little_memory_loses_no_count)
{
	for (uint64_t bytes = 0; bytes < 40000; bytes += 640) {
		struct budget budget = { .left = bytes };
		struct histogram sum = { .budget = &budget };
		uint64_t state = bytes + 1, added = 0;

		for (int round = 0; round < 3; round++) {
			struct histogram part = { .budget = &budget };

			for (int i = 0; i < 1000; i++, added++)
				histogram_add(&part, random_value(&state));
			for (int i = 0; i < 66000; i++, added++)
				histogram_add(&part, 4);
			histogram_merge(&sum, &part);
			histogram_release(&part);
		}
		ck_assert_uint_eq(histogram_total(&sum) + sum.missed, added);
		histogram_release(&sum);
		ck_assert_uint_eq(budget.left, bytes);
	}
}
