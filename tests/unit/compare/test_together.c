/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of values across recordings.
 */
#include "collector/compare/together.h"
#include "tests/suite.h"

TEST(together_values_find_the_most_where_it_was)
{
	double values[] = { 3, 1, 8, 4 };
	struct together one = together_values(values, 4);

	ck_assert_double_eq(one.sum, 16);
	ck_assert_double_eq(one.min, 1);
	ck_assert_double_eq(one.median, 3.5);
	ck_assert_double_eq(one.max, 8);
	ck_assert_double_eq(one.imbalance, 2);
	ck_assert_uint_eq(one.most, 2);
}

TEST(together_values_of_zeros_have_no_imbalance)
{
	double values[] = { 0, 0 };
	struct together one = together_values(values, 2);

	ck_assert_double_eq(one.sum, 0);
	ck_assert_double_eq(one.imbalance, 0);
	ck_assert_uint_eq(one.most, 0);
}
