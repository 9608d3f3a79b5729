/* SPDX-License-Identifier: Apache-2.0
 *
 * The rate of CPU samples that fits into a budget.
 */
#include "collector/options/cpu_rate.h"

#include "collector/options/limits.h"
#include "tests/suite.h"

#define US 1000.0

TEST(cpu_rate_follows_the_budget)
{
	ck_assert_uint_eq(cpu_rate_for_budget(0.01, 25 * US), 100);
	ck_assert_uint_eq(cpu_rate_for_budget(0.05, 25 * US), 500);
	ck_assert_uint_eq(cpu_rate_for_budget(0.10, 25 * US), 1000);
	ck_assert_uint_eq(cpu_rate_for_budget(0.90, 25 * US), CPU_RATE_MOST);
}

TEST(cpu_rate_without_a_budget_is_the_usual_one)
{
	ck_assert_uint_eq(cpu_rate_for_budget(0, 25 * US), CPU_HZ_FREE);
	ck_assert_uint_eq(cpu_rate_for_budget(0, 0), CPU_HZ_FREE);
}

TEST(cpu_rate_of_a_small_budget_takes_up_to_half_of_it)
{
	ck_assert_uint_eq(cpu_rate_for_budget(0.005, 25 * US), CPU_HZ_USUAL);
	ck_assert_uint_eq(cpu_rate_for_budget(0.0025, 25 * US), 50);
	ck_assert_uint_eq(cpu_rate_for_budget(0.01, 100 * US), 50);
}

TEST(cpu_rate_is_zero_where_samples_cost_more_than_the_budget)
{
	ck_assert_uint_eq(cpu_rate_for_budget(0.0005, 25 * US), 10);
	ck_assert_uint_eq(cpu_rate_for_budget(0.0004, 25 * US), 0);
	ck_assert_uint_eq(cpu_rate_for_budget(0.00001, 25 * US), 0);
}

TEST(cpu_rate_of_an_unknown_cost_takes_a_usual_one)
{
	ck_assert_uint_eq(cpu_rate_for_budget(0.05, 0), 500);
}

TEST(cpu_rate_leaves_the_rest_for_hooks)
{
	ck_assert_double_eq_tol(cpu_rate_rest(0.05, 500, 25 * US), 0.0375,
				1e-9);
	ck_assert_double_eq_tol(cpu_rate_rest(0.05, 0, 25 * US), 0.05, 1e-9);
	/* The user chose the rate; samples alone cost twice the budget. */
	ck_assert_double_eq_tol(cpu_rate_rest(0.05, 4000, 25 * US), 0.0125,
				1e-9);
}
