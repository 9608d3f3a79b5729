/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/histogram.h"
#include "collector/profile/true_time.h"

#include <math.h>

#include "collector/profile/cost_fit.h"
#include "collector/profile/function_table.h"
#include "tests/suite.h"

static const struct own_costs costs = {
	.inner_ns = 10,
	.outer_ns = 8,
	.least_ns = 20,
	.counted_ns = 2,
	.block_ns = 6,
	.heap_sample_ns = 500,
	.cpu_sample_ns = 1000,
};

TEST(true_time_is_without_each_kind_of_cost)
{
	const struct own_counts counts = {
		.inner = 1,
		.outer = 2,
		.counted = 4,
		.blocks = 8,
		.heap_samples = 16,
		.cpu_samples = 32,
		.wait_ns = 7,
	};
	const int64_t cost = 10 + 16 + 8 + 48 + 8000 + 32000 + 7;
	uint64_t below_ns = 0;

	ck_assert_double_eq(true_time_cost(&costs, &counts), (double)cost);
	ck_assert_int_eq(true_time(100000, &costs, &counts, &below_ns),
			 100000 - cost);
	ck_assert_int_eq(true_time(cost, &costs, &counts, &below_ns), 0);
	ck_assert_uint_eq(below_ns, 0);
}

TEST(true_time_is_never_below_0_but_that_is_told)
{
	const struct own_counts counts = { .inner = 10 };
	uint64_t below_ns = 3;

	ck_assert_int_eq(true_time(60, &costs, &counts, &below_ns), 0);
	ck_assert_uint_eq(below_ns, 3 + 40);
}

TEST(true_time_of_odd_values_is_no_nonsense)
{
	const struct own_counts all = { UINT64_MAX, UINT64_MAX, UINT64_MAX,
					UINT64_MAX, UINT64_MAX, UINT64_MAX,
					UINT64_MAX };
	const struct own_counts none = { 0 };
	uint64_t below_ns = 0;

	ck_assert_int_eq(true_time(INT64_MAX, &costs, &all, &below_ns), 0);
	ck_assert_uint_ge(below_ns, INT64_MAX);
	for (int i = 0; i < 3; i++)
		true_time(1, &costs, &all, &below_ns);
	ck_assert_uint_eq(below_ns, UINT64_MAX);
	ck_assert_int_eq(true_time(-5, &costs, &all, &below_ns), -5);
	ck_assert_int_eq(true_time(INT64_MAX, &costs, &none, &below_ns),
			 INT64_MAX);
}

static struct function_total leaf(uint64_t calls, uint64_t mean_ns)
{
	return (struct function_total){
		.measured_self_ns = calls * mean_ns,
		.own_self = { .inner = calls },
	};
}

TEST(true_time_fits_to_what_does_nearly_nothing)
{
	const struct function_total totals[] = {
		leaf(5000, 24),
		leaf(5000, 26),
		leaf(9999, 22),
		leaf(5000, 26),
	};
	struct own_costs fitted = costs;

	ck_assert_double_eq_tol(cost_fit(&fitted, totals, ARRAY_SIZE(totals)),
				1.1, 1e-9);
	ck_assert_double_eq_tol(fitted.inner_ns, 11, 1e-9);
	ck_assert_double_eq_tol(fitted.outer_ns, 8.8, 1e-9);
	ck_assert_double_eq(fitted.counted_ns, 2);
}

static void does_not_fit(const struct function_total *totals, size_t count)
{
	struct own_costs fitted = costs;

	ck_assert_double_eq(cost_fit(&fitted, totals, count), 1);
	ck_assert_double_eq(fitted.inner_ns, 10);
}

TEST(true_time_does_not_fit_to_functions_that_work)
{
	struct function_total totals[5] = { leaf(5000, 26), leaf(5000, 26),
					    leaf(5000, 26), leaf(5000, 30),
					    leaf(999, 22) };

	does_not_fit(totals, 5); /* three are too few */
	totals[3] = leaf(5000, 26);
	totals[3].own_self.outer = 1;
	does_not_fit(totals, 5);
	totals[3].own_self = (struct own_counts){ .inner = 5000, .blocks = 9 };
	does_not_fit(totals, 5);
	/* The measured costs were too high. */
	totals[3] = leaf(5000, 19);
	does_not_fit(totals, 5);
	does_not_fit(NULL, 0);
}

/* 1,000 recorded calls: 18,000 ns by costs, and 2 ns each in thunks. */
static const struct own_counts thousand = { .inner = 1000, .outer = 1000 };

TEST(true_time_fits_to_samples)
{
	const struct cost_sampled sampled = {
		.library = { 100000 * COST_FIT_PRIOR, 25000 },
		.thunks = { 100000 * COST_FIT_PRIOR, 2000 },
	};
	struct own_costs fitted = costs;

	ck_assert_double_eq_tol(cost_fit_sampled(&fitted, &thousand, &sampled),
				1.5, 1e-4);
	ck_assert_double_eq_tol(fitted.inner_ns, 15, 1e-3);
	ck_assert_double_eq_tol(fitted.outer_ns, 12, 1e-3);
	ck_assert_double_eq_tol(fitted.block_ns, 9, 1e-3);
	ck_assert_double_eq(fitted.heap_sample_ns, 500);
	ck_assert_double_eq(fitted.cpu_sample_ns, 1000);
}

TEST(true_time_leaves_out_thunks_of_counted_calls)
{
	const struct own_counts counts = { .inner = 1000,
					   .outer = 1000,
					   .counted = 3000 };
	const struct cost_sampled sampled = {
		.library = { 100000 * COST_FIT_PRIOR, 18000 - 1500 },
		.thunks = { 100000 * COST_FIT_PRIOR, 6000 },
	};
	struct own_costs fitted = costs;

	ck_assert_double_eq_tol(cost_fit_sampled(&fitted, &counts, &sampled), 1,
				1e-4);
	ck_assert_double_eq(fitted.counted_ns, costs.counted_ns);
}

TEST(true_time_leaves_out_stacks_of_allocations)
{
	const struct own_counts counts = {
		.inner = 1000, .outer = 1000, .blocks = 1000, .heap_samples = 10
	};
	const struct cost_sampled sampled = {
		.library = { 100000 * COST_FIT_PRIOR, 48000 + 5000 },
	};
	struct own_costs fitted = costs;

	ck_assert_double_eq_tol(cost_fit_sampled(&fitted, &counts, &sampled), 2,
				1e-4);
	ck_assert_double_eq_tol(fitted.block_ns, 12, 1e-3);
}

TEST(true_time_believes_few_samples_little)
{
	struct cost_sampled sampled = { .library = { COST_FIT_PRIOR, 36000 } };
	struct own_costs fitted = costs;

	/* With as many samples as the prior's weight, the middle. */
	ck_assert_double_eq_tol(cost_fit_sampled(&fitted, &thousand, &sampled),
				1.5, 1e-9);
	fitted = costs;
	sampled.library.samples = 1;
	ck_assert_double_lt(cost_fit_sampled(&fitted, &thousand, &sampled),
			    1.1);
	fitted = costs;
	sampled.library.samples = 0;
	ck_assert_double_eq(cost_fit_sampled(&fitted, &thousand, &sampled), 1);
	ck_assert_double_eq(fitted.inner_ns, 10);
}

TEST(true_time_of_odd_samples_is_no_nonsense)
{
	static const struct own_counts none = { 0 };
	struct cost_sampled sampled = { .library = { UINT64_MAX, 1e30 },
					.thunks = { UINT64_MAX, 1e30 } };
	struct own_costs fitted = costs, empty = { 0 };

	ck_assert_double_eq(cost_fit_sampled(&fitted, &thousand, &sampled),
			    COST_FIT_SAMPLED_MAX);
	ck_assert_double_eq(fitted.counted_ns, 2);
	fitted = costs;
	sampled = (struct cost_sampled){ .library = { UINT64_MAX, 0 } };
	ck_assert_double_eq(cost_fit_sampled(&fitted, &thousand, &sampled),
			    COST_FIT_SAMPLED_MIN);
	fitted = costs;
	ck_assert_double_eq(cost_fit_sampled(&fitted, &none, &sampled), 1);
	ck_assert_double_eq(cost_fit_sampled(&empty, &thousand, &sampled), 1);
	ck_assert_double_eq(empty.inner_ns, 0);
}

static struct function_total rare_leaf(uint64_t recorded, uint64_t mean_ns)
{
	struct function_total total = leaf(recorded, mean_ns);

	total.calls = 10 * recorded;
	return total;
}

TEST(true_time_inner_half_is_not_more_than_was_measured)
{
	const struct function_total totals[] = {
		leaf(5000, 9),	    leaf(5000, 8),	 leaf(9999, 300),
		leaf(5000, 26),	    rare_leaf(100, 40),	 rare_leaf(100, 30),
		rare_leaf(999, 50), rare_leaf(100, 900), rare_leaf(99, 1),
	};
	struct own_costs fitted = costs;

	/* 8 is measured, so 10 is too much. A rare call of 40 has an inner half
	 * of 20, as one of 20 has 10. */
	cost_fit_halves(&fitted, totals, ARRAY_SIZE(totals));
	ck_assert_double_eq_tol(fitted.inner_ns, 8, 1e-9);
	ck_assert_double_eq_tol(fitted.outer_ns, 10, 1e-9);
	ck_assert_double_eq_tol(fitted.least_ns, 16, 1e-9);
	ck_assert_double_eq_tol(fitted.rare_ns, 20 - 8, 1e-9);
}

TEST(true_time_halves_need_some_functions)
{
	struct function_total totals[] = {
		leaf(5000, 5),	   leaf(5000, 5),      leaf(5000, 5),
		leaf(999, 5),	   rare_leaf(100, 60), rare_leaf(100, 60),
		rare_leaf(99, 60), rare_leaf(100, 60),
	};
	struct own_costs fitted = costs;

	cost_fit_halves(&fitted, totals, ARRAY_SIZE(totals));
	ck_assert_double_eq(fitted.inner_ns, 10);
	ck_assert_double_eq(fitted.outer_ns, 8);
	ck_assert_double_eq(fitted.rare_ns, 0);
	cost_fit_halves(&fitted, NULL, 0);
	ck_assert_double_eq(fitted.inner_ns, 10);
	/* Without a fast function the halves are unknown. */
	for (size_t i = 0; i < 4; i++)
		totals[i] = leaf(5000, 100);
	cost_fit_halves(&fitted, totals, ARRAY_SIZE(totals));
	ck_assert_double_eq(fitted.inner_ns, 10);
}

TEST(function_table_subtracts_what_rare_calls_cost)
{
	struct function_total one = {
		.name = "f",
		.module = "/m",
		.calls = 1000,
		.measured_self_ns = 10000,
		.measured_total_ns = 20000,
		.own_self = { .inner = 100 },
		.own_total = { .inner = 100 },
	};
	struct function_table table = { 0 };
	struct own_costs rare = costs;
	struct true_time_sums sums;
	const struct function_total *all;
	size_t count;

	rare.rare_ns = 20;
	ck_assert_int_eq(function_table_add(&table, &one), 0);
	one.name = "g";
	one.calls = 100;
	ck_assert_int_eq(function_table_add(&table, &one), 0);
	function_table_correct(&table, &rare, &sums);
	all = function_table_sort(&table, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_str_eq(all[0].name, "g");
	ck_assert_uint_eq(all[0].self_ns, 10000 - 1000);
	ck_assert_uint_eq(all[1].self_ns, 10000 - 1000 - 1800);
	ck_assert_uint_eq(all[1].total_ns, 20000 - 1000 - 1800);
	ck_assert_uint_eq(sums.subtracted_ns, 1000 + 2800);
	function_table_release(&table);
}

/* A call with own costs of 153 ns, and a call of a function that slept among
 * its callees. */
TEST(function_table_takes_the_same_off_durations)
{
	const struct own_costs ten = { .inner_ns = 10 };
	struct function_total one = { .name = "once",
				      .module = "/m",
				      .calls = 1,
				      .measured_total_ns = 320,
				      .own_self = { .inner = 1 },
				      .own_total = { .inner = 15 } };
	struct histogram durations = { 0 };
	struct function_table table = { 0 };
	struct true_time_sums sums;
	const struct function_total *all;
	size_t count;

	ck_assert_int_eq(function_table_add(&table, &one), 0);
	histogram_add_weight(&durations, 320, 30);
	function_table_add_durations(&table, "once", "/m", &durations);
	one.name = "sleeps";
	one.calls = one.own_self.inner = 11;
	one.measured_total_ns = 10 * 1000 + 1000000;
	one.own_total.inner = 502;
	ck_assert_int_eq(function_table_add(&table, &one), 0);
	for (int i = 0; i < 10; i++)
		histogram_add_weight(&durations, 1000, 50);
	histogram_add_weight(&durations, 1000000, 2);
	function_table_add_durations(&table, "sleeps", "/m", &durations);
	function_table_correct(&table, &ten, &sums);
	all = function_table_all(&table, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(all[0].total_ns, 170);
	ck_assert_uint_eq(histogram_quantile(all[0].durations, 500), 170);
	ck_assert_uint_eq(all[0].durations->max, 170);
	ck_assert(function_table_knows_durations(&all[1]));
	ck_assert_uint_ge(histogram_quantile(all[1].durations, 500), 495);
	ck_assert_uint_le(histogram_quantile(all[1].durations, 500), 505);
	ck_assert_uint_eq(all[1].durations->max, 1000000 - 20);
	function_table_release(&table);
}

TEST(function_table_corrects_self_and_total)
{
	struct function_total one = {
		.name = "f",
		.module = "/m",
		.calls = 3,
		.measured_self_ns = 100,
		.measured_total_ns = 500,
		.own_self = { .inner = 2, .outer = 3 },
		.own_total = { .inner = 5, .outer = 3 },
	};
	struct function_total small = { .name = "g",
					.module = "/m",
					.measured_self_ns = 25,
					.measured_total_ns = 25,
					.own_self = { .inner = 3 },
					.own_total = { .inner = 3 } };
	struct function_table table = { 0 };
	struct true_time_sums sums;
	const struct function_total *all;
	size_t count;

	ck_assert_int_eq(function_table_add(&table, &one), 0);
	ck_assert_int_eq(function_table_add(&table, &one), 0);
	ck_assert_int_eq(function_table_add(&table, &small), 0);
	function_table_correct(&table, &costs, &sums);
	ck_assert_uint_eq(sums.below_ns, 5);
	ck_assert_uint_eq(sums.subtracted_ns, 4 * 10 + 6 * 8 + 25);
	all = function_table_sort(&table, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(all[0].calls, 6);
	ck_assert_uint_eq(all[0].measured_self_ns, 200);
	ck_assert_uint_eq(all[0].self_ns, 200 - 4 * 10 - 6 * 8);
	ck_assert_uint_eq(all[0].total_ns, 1000 - 10 * 10 - 6 * 8);
	ck_assert_uint_eq(all[1].self_ns, 0);
	ck_assert_uint_eq(all[1].total_ns, 0);
	function_table_release(&table);
}

/* A function with 16 % of the CPU time was shown with "on CPU 0 ns": hooks are
 * preempted as well. */
TEST(function_table_subtracts_from_runnable_time_too)
{
	const struct own_costs half = { .inner_ns = 5,
					.outer_ns = 5,
					.error = 0.25 };
	const struct function_total one = {
		.name = "f",
		.module = "/m",
		.calls = 100,
		.measured_self_ns = 1000,
		.measured_total_ns = 2000,
		.own_self = { .inner = 100 },
		.own_total = { .inner = 100, .outer = 40 },
		.kernel_self = { .runnable_ns = 500, .blocked_ns = 200 },
		.kernel_total = { .runnable_ns = 600, .blocked_ns = 1000 },
	};
	struct function_table table = { 0 };
	struct true_time_sums sums;
	const struct function_total *all;
	size_t count;

	ck_assert_int_eq(function_table_add(&table, &one), 0);
	function_table_correct(&table, &half, &sums);
	all = function_table_all(&table, &count);
	/* Own cost leaves 300 of the 800 ns that were not blocked. */
	ck_assert_uint_eq(all->self_ns, 500);
	ck_assert_uint_eq(all->self_error_ns, 500 / 4);
	ck_assert_uint_eq(all->kernel_self.blocked_ns, 200);
	ck_assert_uint_eq(all->kernel_self.runnable_ns, 500 * 300 / 800);
	/* Callees: 800 of 1000 were blocked; all the rest is own cost. */
	ck_assert_uint_eq(all->total_ns, 1300);
	ck_assert_uint_eq(all->kernel_total.blocked_ns, 200 + 800);
	ck_assert_uint_eq(all->kernel_total.runnable_ns, 500 * 300 / 800);
	function_table_release(&table);
}

TEST(function_table_has_no_self_time_above_its_total)
{
	const struct function_total one = {
		.name = "f",
		.module = "/m",
		.calls = 1,
		.measured_self_ns = 1000,
		.measured_total_ns = 1100,
		.kernel_self = { .runnable_ns = 100 },
		/* exceeds the total: the callees' records were late */
		.kernel_total = { .runnable_ns = 900 },
	};
	struct function_table table = { 0 };
	struct true_time_sums sums;
	const struct function_total *all;
	size_t count;

	ck_assert_int_eq(function_table_add(&table, &one), 0);
	function_table_correct(&table, &costs, &sums);
	all = function_table_all(&table, &count);
	ck_assert_uint_eq(all->kernel_self.runnable_ns, 100);
	ck_assert_uint_eq(all->kernel_total.runnable_ns, 200);
	function_table_release(&table);
}
