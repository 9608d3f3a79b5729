/* SPDX-License-Identifier: Apache-2.0
 *
 * test_poisson - distances between sample points: logarithms compared with
 * libm, and estimates within 3 standard deviations of theory, with fixed seeds.
 */
#include <math.h>

#include "preload/alloc/poisson.h"
#include "tests/suite.h"

TEST(log2_is_right_to_30_bits)
{
	uint64_t x = 1, state = 42;
	int i;

	ck_assert_uint_eq(log2_fixed(1), 0);
	for (i = 0; i < 64; i++)
		ck_assert_uint_eq(log2_fixed(1ULL << i) >> 32, (uint64_t)i);
	for (i = 0; i < 10000; i++) {
		double right;

		x = poisson_random(&state) >> (i % 60) | 1;
		right = (double)log2l((long double)x);
		ck_assert_double_eq_tol((double)log2_fixed(x) / 4294967296.0,
					right, 1e-9);
	}
}

TEST(mean_and_spread_are_those_of_an_exponential)
{
	const double n = 200000, period = 524288;
	double sum = 0, squares = 0;
	uint64_t state = 7;
	int i;

	for (i = 0; i < (int)n; i++) {
		double d = (double)poisson_distance((uint64_t)period, &state);

		ck_assert(d >= 0);
		sum += d;
		squares += d * d;
	}
	/* sigma of the mean is T / sqrt(n), of the mean square sqrt(20 / n)
	 * T^2, as the fourth moment is 24 T^4. */
	ck_assert_double_eq_tol(sum / n / period, 1, 3 / sqrt(n));
	ck_assert_double_eq_tol(squares / n / period / period, 2,
				3 * sqrt(20 / n));
}

TEST(estimates_are_unbiased)
{
	static const uint64_t sizes[] = { 16, 100, 4096, 70000, 1 << 20 };
	static const double n[] = { 4e6, 1e6, 1e5, 1e4, 2e3 };
	const uint64_t period = 65536;
	double left_of[5];
	uint64_t state = 12345, sampled[5] = { 0 };
	int64_t left = poisson_distance(period, &state);
	bool more = true;
	int i;

	for (i = 0; i < 5; i++)
		left_of[i] = n[i];
	while (more)
		for (i = 0, more = false; i < 5; i++) {
			if (!left_of[i])
				continue;
			more = true;
			left_of[i]--;
			left -= (int64_t)sizes[i];
			if (left >= 0)
				continue;
			sampled[i]++;
			left = poisson_distance(period, &state);
		}
	for (i = 0; i < 5; i++) {
		double p = -expm1(-(double)sizes[i] / (double)period);
		double sigma = sqrt(n[i] * (1 - p) / p);

		ck_assert_double_eq_tol((double)sampled[i] / p, n[i],
					3 * sigma + 1e-6 * n[i]);
	}
}

TEST(extremes_do_not_overflow)
{
	uint64_t state = 1;
	int i;

	for (i = 0; i < 100000; i++) {
		int64_t one = poisson_distance(1, &state);
		int64_t huge = poisson_distance(UINT64_MAX, &state);

		ck_assert_int_ge(one, 0);
		ck_assert_int_lt(one, 64);
		ck_assert_int_ge(huge, 0);
		ck_assert_int_lt(huge, 1LL << 47);
	}
}
