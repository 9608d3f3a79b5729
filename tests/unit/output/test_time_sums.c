/* SPDX-License-Identifier: Apache-2.0
 *
 * Contradicting and consistent times.
 */
#include "collector/output/time_sums.h"

#include "tests/suite.h"

#define MS UINT64_C(1000000)

TEST(time_sums_that_agree_have_no_surplus)
{
	const struct time_sums sums = { .functions_ns = 900 * MS,
					.threads_ns = 1000 * MS,
					.silent_ns = 200 * MS,
					.cpu_ns = 1200 * MS };
	const struct time_surplus none = time_sums_check(&sums);

	ck_assert_uint_eq(none.functions_ns, 0);
	ck_assert_uint_eq(none.threads_ns, 0);
	ck_assert_uint_eq(none.silent_ns, 0);
}

TEST(time_sums_may_be_off_by_a_percent_or_5_ms)
{
	struct time_sums sums = { .functions_ns = 1010 * MS,
				  .threads_ns = 1000 * MS,
				  .cpu_ns = 991 * MS };

	ck_assert_uint_eq(time_sums_check(&sums).functions_ns, 0);
	ck_assert_uint_eq(time_sums_check(&sums).threads_ns, 0);
	/* one percent of 990 ms is less than 10 ms */
	sums.cpu_ns -= MS;
	ck_assert_uint_eq(time_sums_check(&sums).threads_ns, 10 * MS);
	sums = (struct time_sums){ .functions_ns = 6 * MS,
				   .threads_ns = 1 * MS };
	ck_assert_uint_eq(time_sums_check(&sums).functions_ns, 0);
	sums.functions_ns++;
	ck_assert_uint_eq(time_sums_check(&sums).functions_ns, 5 * MS + 1);
}

TEST(time_sums_bound_the_next_by_what_is_left)
{
	const struct time_sums sums = { .functions_ns = 3000 * MS,
					.threads_ns = 2000 * MS,
					.silent_ns = 700 * MS,
					.cpu_ns = 500 * MS };
	const struct time_surplus out = time_sums_check(&sums);

	ck_assert_uint_eq(out.threads_ns, 1500 * MS);
	ck_assert_uint_eq(out.silent_ns, 700 * MS);
	ck_assert_uint_eq(out.functions_ns, 2500 * MS);
}

TEST(time_sums_allow_functions_what_the_host_took)
{
	const struct time_sums sums = { .functions_ns = 1300 * MS,
					.threads_ns = 1000 * MS,
					.stolen_ns = 300 * MS };

	ck_assert_uint_eq(time_sums_check(&sums).functions_ns, 0);
}

TEST(time_sums_without_cpu_time_bound_functions_only)
{
	const struct time_sums sums = { .functions_ns = 100 * MS,
					.threads_ns = 50 * MS,
					.silent_ns = 70 * MS };
	const struct time_surplus out = time_sums_check(&sums);

	ck_assert_uint_eq(out.functions_ns, 50 * MS);
	ck_assert_uint_eq(out.threads_ns, 0);
	ck_assert_uint_eq(out.silent_ns, 0);
	ck_assert_uint_eq(time_sums_cpu_ns(5, 7, true), 7);
	ck_assert_uint_eq(time_sums_cpu_ns(7, 5, true), 7);
	ck_assert_uint_eq(time_sums_cpu_ns(7, 5, false), 0);
}

TEST(time_sums_of_states_make_up_the_wall_time)
{
	ck_assert(time_sums_make_up(1000 * MS, 1010 * MS));
	ck_assert(time_sums_make_up(1010 * MS, 1000 * MS));
	ck_assert(!time_sums_make_up(1000 * MS, 1011 * MS));
	ck_assert(!time_sums_make_up(1011 * MS, 1000 * MS));
	ck_assert(time_sums_make_up(5 * MS, 0));
	ck_assert(!time_sums_make_up(0, 5 * MS + 1));
}
