/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/budget.h"

#include "tests/suite.h"

TEST(budget_gives_all_that_it_has_and_no_more)
{
	struct budget budget = { .left = 100 };

	ck_assert(budget_take(&budget, 60));
	ck_assert(!budget_take(&budget, 41));
	ck_assert_uint_eq(budget.left, 40);
	ck_assert(budget_take(&budget, 40));
	ck_assert(!budget_take(&budget, 1));
	budget_give(&budget, 100);
	ck_assert_uint_eq(budget.left, 100);
}

TEST(budget_refuses_sums_that_wrap_around)
{
	struct budget budget = { .left = 100 };

	ck_assert(!budget_take(&budget, UINT64_MAX));
	ck_assert(!budget_take(&budget, (uint64_t)INT64_MAX + 1));
	ck_assert_uint_eq(budget.left, 100);
}

/* Another thread has overdrawn the budget and not given its bytes back yet. */
TEST(budget_that_is_overdrawn_for_a_moment_gives_nothing)
{
	struct budget budget = { .left = (uint64_t)-5 };

	ck_assert(!budget_take(&budget, 1));
	ck_assert_uint_eq(budget.left, (uint64_t)-5);
}

TEST(budget_that_is_a_part_takes_from_the_whole)
{
	struct budget whole = { .left = 100 };
	struct budget part = { .left = 60, .whole = &whole };

	ck_assert(budget_take(&part, 50));
	ck_assert_uint_eq(part.left, 10);
	ck_assert_uint_eq(whole.left, 50);
	ck_assert(!budget_take(&part, 11));
	ck_assert_uint_eq(whole.left, 50);
	ck_assert_uint_eq(whole.full_ns, 0);
	budget_give(&part, 50);
	ck_assert_uint_eq(part.left, 60);
	ck_assert_uint_eq(whole.left, 100);
}

TEST(budget_that_is_a_part_has_no_more_than_the_whole)
{
	struct budget whole = { .left = 100 };
	struct budget part = { .left = 60, .whole = &whole };

	ck_assert(budget_take(&whole, 90));
	ck_assert(!budget_take(&part, 20));
	ck_assert_uint_eq(part.left, 60);
	ck_assert_uint_eq(whole.left, 10);
	ck_assert_uint_ne(whole.full_ns, 0);
	ck_assert(budget_take(&part, 10));
}
