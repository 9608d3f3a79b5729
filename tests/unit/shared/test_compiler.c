/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/suite.h"

static int g_calls;

static int64_t sinking(void)
{
	return 5 - 2 * g_calls++;
}

TEST(min_and_max_evaluate_each_argument_once)
{
	g_calls = 0;
	ck_assert_int_eq(MIN(sinking(), 7), 5);
	ck_assert_int_eq(MIN(7, sinking()), 3);
	ck_assert_int_eq(MAX(sinking(), 0), 1);
	ck_assert_int_eq(MAX(MAX(-7, sinking()), -9), -1);
	ck_assert_int_eq(g_calls, 4);
}

TEST(min_and_max_compare_constants_with_unsigned_values)
{
	uint64_t large = UINT64_MAX;
	uint16_t small = 200;

	ck_assert_uint_eq(MIN(large, 1), 1);
	ck_assert_uint_eq(MAX(1, large), UINT64_MAX);
	ck_assert_uint_eq(MIN(small, 300), 200);
}
