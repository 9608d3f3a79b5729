/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/replay/scale_calls.h"
#include "tests/suite.h"

#define SCALE(exact, rest, ...)                                              \
	do {                                                                 \
		uint64_t unknown_;                                           \
                                                                             \
		ck_assert_int_eq(scale_calls(calls,                          \
					     sizeof(calls) / sizeof(*calls), \
					     exact, &unknown_),              \
				 0);                                         \
		ck_assert_uint_eq(unknown_, rest);                           \
		ck_assert_mem_eq(calls, ((uint64_t[]){ __VA_ARGS__ }),       \
				 sizeof(calls));                             \
	} while (0)

TEST(scale_calls_keeps_proportions)
{
	uint64_t calls[] = { 1, 2, 7 };

	SCALE(1000, 0, 100, 200, 700);
}

TEST(scale_calls_rounds_by_the_largest_remainder)
{
	/* 3.67, 3.67, 3.67 and 0: the first two are rounded up. */
	uint64_t calls[] = { 1, 1, 1, 0 };

	SCALE(11, 0, 4, 4, 3, 0);
}

TEST(scale_calls_gives_the_rest_to_the_largest)
{
	/* 1.375, 2.75, 6.875 */
	uint64_t calls[] = { 1, 2, 5 };

	SCALE(11, 0, 1, 3, 7);
}

TEST(scale_calls_not_recorded_have_unknown_callers)
{
	uint64_t calls[] = { 0, 0 };

	SCALE(5, 5, 0, 0);
	ck_assert_int_eq(scale_calls(NULL, 0, 7, calls), 0);
	ck_assert_uint_eq(calls[0], 7);
}

TEST(scale_calls_never_takes_recorded_ones_away)
{
	uint64_t calls[] = { 3, 4 };

	SCALE(7, 0, 3, 4);
	SCALE(6, 0, 3, 4);
	SCALE(0, 0, 3, 4);
}

TEST(scale_calls_large_numbers_do_not_overflow)
{
	uint64_t calls[] = { 1ULL << 61, 1ULL << 61 };

	SCALE(UINT64_MAX, 0, 1ULL << 63, (1ULL << 63) - 1);
}

TEST(scale_calls_random_ones_add_up)
{
	for (unsigned int seed = 0; seed < 2000; seed++) {
		uint64_t calls[50], before[50], sum = 0, unknown, got = 0;
		size_t count;

		srand(seed);
		count = 1 + (size_t)rand() % 50;
		for (size_t i = 0; i < count; i++) {
			calls[i] = (uint64_t)(rand() % 100) *
				   (uint64_t)(rand() % 3);
			sum += before[i] = calls[i];
		}
		uint64_t exact = sum + (uint64_t)rand() % 100000;

		ck_assert_int_eq(scale_calls(calls, count, exact, &unknown), 0);
		for (size_t i = 0; i < count; i++) {
			uint64_t low = sum ? before[i] * exact / sum : 0;

			got += calls[i];
			ck_assert_uint_ge(calls[i], before[i]);
			ck_assert(calls[i] == low || calls[i] == low + 1);
		}
		ck_assert_uint_eq(got + unknown, exact);
	}
}
