/* SPDX-License-Identifier: Apache-2.0
 *
 * Detected changes in randomly drawn runs. The seed is fixed, so each test has
 * the same outcome on every machine.
 */
#include "collector/compare/judge.h"
#include "tests/suite.h"

#include <math.h>

#include "collector/compare/spread.h"

#define ROWS 30
#define RUNS 6

static uint64_t g_seed;

static double uniform(void)
{
	g_seed = g_seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return ((double)(g_seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

struct world {
	double spread; /* relative, of a function in one run */
	double outliers; /* probability that a function takes 50 % more */
	double drift; /* slowdown of the machine while B runs */
	double uneven; /* how unevenly the slowdown affects functions */
	double planted; /* real slowdown of function 3 on B */
};

struct rig {
	struct runs runs;
	struct summary summary;
	struct run list[RUNS];
	int64_t values[ROWS * RUNS];
	struct judged judged;
};

static void make_rig(struct rig *rig, const char *unit)
{
	*rig = (struct rig){ 0 };
	rig->runs = (struct runs){ .list = rig->list,
				   .count = RUNS,
				   .first_b = RUNS / 2,
				   .metric_count = 1,
				   .values = rig->values };
	strcpy(rig->runs.metric[0].key, "wall");
	strcpy(rig->runs.metric[0].unit, unit);
	rig->runs.row_pool.count = ROWS;
	for (size_t i = 0; i < RUNS; i++)
		rig->list[i] = (struct run){ .single_threaded = true,
					     .complete = true };
}

static void add_sums(struct rig *rig)
{
	for (size_t run = 0; run < RUNS; run++) {
		rig->runs.sum[0][run] = 0;
		for (size_t row = 0; row < ROWS; row++)
			rig->runs.sum[0][run] += rig->values[row * RUNS + run];
	}
}

static void draw(struct rig *rig, const struct world *world)
{
	for (size_t row = 0; row < ROWS; row++) {
		double size = 1e9 / (double)(row + 2);
		double slower = world->drift * (1 + world->uneven * normal());

		for (size_t run = 0; run < RUNS; run++) {
			double value = size * (1 + world->spread * normal());

			if (uniform() < world->outliers)
				value *= 1 - log(uniform()) / 2;
			if (run >= RUNS / 2)
				value *= 1 + slower +
					 (row == 3 ? world->planted : 0);
			rig->values[row * RUNS + run] = (int64_t)value;
		}
	}
	add_sums(rig);
}

/* *@third: row 3 has changed. */
static size_t changes(struct rig *rig, bool *third)
{
	size_t count = 0;

	ck_assert_int_eq(judge(&rig->runs, &rig->judged), 0);
	for (size_t row = 0; row < ROWS; row++)
		count += judged_cell(&rig->judged, row, 0)->changed;
	*third = judged_cell(&rig->judged, 3, 0)->changed;
	judged_release(&rig->judged);
	return count;
}

/* Out of 300. */
static size_t false_changes(const struct world *world)
{
	struct rig rig;
	size_t bad = 0;
	bool third;

	g_seed = 7;
	make_rig(&rig, "nanoseconds");
	for (int i = 0; i < 300; i++) {
		draw(&rig, world);
		bad += changes(&rig, &third) > 0;
	}
	return bad;
}

static const struct world equal_worlds[] = {
	{ .spread = 0.002 },
	{ .spread = 0.1 },
	{ .spread = 0.01, .outliers = 0.1 },
	{ .spread = 0.002, .outliers = 0.3 },
	{ .spread = 0.002, .drift = 0.3 },
	{ .spread = 0.002, .drift = 0.1, .uneven = 0.3 },
};

TEST(judge_calls_nothing_changed_in_equal_runs,
     EACH(0, sizeof(equal_worlds) / sizeof(*equal_worlds)))
{
	ck_assert_uint_eq(false_changes(&equal_worlds[_i]), 0);
}

TEST(judge_finds_two_percent_in_a_steady_program, EACH(0, 3))
{
	const struct world worlds[] = {
		{ .spread = 0.002, .planted = 0.02 },
		{ .spread = 0.002, .planted = 0.02, .drift = 0.1 },
		{ .spread = 0.002, .planted = -0.02 },
	};
	struct rig rig;
	bool third;

	make_rig(&rig, "nanoseconds");
	g_seed = 11;
	for (int i = 0; i < 100; i++) {
		draw(&rig, &worlds[_i]);
		ck_assert_uint_eq(changes(&rig, &third), 1);
		ck_assert(third);
	}
}

static void fill(struct rig *rig, int64_t a, int64_t b)
{
	for (size_t row = 0; row < ROWS; row++)
		for (size_t run = 0; run < RUNS; run++)
			rig->values[row * RUNS + run] =
				row == 3 && run >= RUNS / 2 ? b : a;
	add_sums(rig);
}

TEST(judge_finds_one_call_where_counts_do_not_vary)
{
	struct rig rig;
	bool third;

	make_rig(&rig, "count");
	fill(&rig, 1000000, 1000001);
	ck_assert_uint_eq(changes(&rig, &third), 1);
	ck_assert(third);
	/* If any count varies, one more call may be chance. */
	rig.values[5 * RUNS] = 7;
	ck_assert_uint_eq(changes(&rig, &third), 0);
}

/* Equal Lua programs differ in blocks, by the addresses of their keys. */
TEST(judge_proves_no_count_with_one_run_of_a_side)
{
	static const size_t runs[][3] = { /* of A, of B, changes */
					  { 1, 1, 0 },
					  { 3, 1, 0 },
					  { 1, 3, 0 },
					  { 2, 2, 1 }
	};
	struct rig rig;
	bool third;

	for (size_t i = 0; i < 4; i++) {
		make_rig(&rig, "count");
		rig.runs.first_b = runs[i][0];
		rig.runs.count = runs[i][0] + runs[i][1];
		for (size_t row = 0; row < ROWS; row++)
			for (size_t run = 0; run < rig.runs.count; run++)
				rig.values[row * rig.runs.count + run] =
					row == 3 && run >= runs[i][0] ? 101
								      : 100;
		ck_assert_uint_eq(changes(&rig, &third), runs[i][2]);
	}
}

TEST(judge_does_not_trust_counts_of_threads_or_of_a_part)
{
	struct rig rig;
	bool third;

	make_rig(&rig, "count");
	fill(&rig, 1000000, 1000001);
	rig.list[1].single_threaded = false;
	ck_assert_uint_eq(changes(&rig, &third), 0);
	rig.list[1].single_threaded = true;
	rig.list[4].complete = false;
	ck_assert_uint_eq(changes(&rig, &third), 0);
	/* A value far beyond the spread is a change. */
	fill(&rig, 1000000, 1100000);
	ck_assert_uint_eq(changes(&rig, &third), 1);
}

TEST(judge_needs_three_runs_a_side_for_times)
{
	struct rig rig;
	bool third;

	make_rig(&rig, "nanoseconds");
	fill(&rig, 1000000, 2000000);
	ck_assert_uint_eq(changes(&rig, &third), 1);
	rig.runs.count = 5;
	for (size_t row = 0; row < ROWS; row++)
		for (size_t run = 0; run < 5; run++)
			rig.values[row * 5 + run] =
				row == 3 && run >= 3 ? 2000000 : 1000000;
	ck_assert_uint_eq(changes(&rig, &third), 0);
}

/* Three runs per side on a busy machine: 45 % more may be chance. */
TEST(judge_says_what_may_have_changed)
{
	static const int64_t times[] = { 452, 471, 524, 659, 683, 687 };
	const struct judge_cell *cell;
	struct rig rig;

	make_rig(&rig, "nanoseconds");
	rig.runs.row_pool.count = 1;
	for (size_t run = 0; run < RUNS; run++) {
		rig.values[run] = times[run] * 1000000;
		rig.runs.sum[0][run] = rig.values[run];
	}
	rig.runs.metric_count = 1;
	ck_assert_int_eq(judge(&rig.runs, &rig.judged), 0);
	cell = judged_cell(&rig.judged, 0, 0);
	ck_assert(!cell->changed && cell->may_have_changed);
	judged_release(&rig.judged);
	rig.values[2] = 670000000;
	ck_assert_int_eq(judge(&rig.runs, &rig.judged), 0);
	cell = judged_cell(&rig.judged, 0, 0);
	ck_assert(!cell->changed && !cell->may_have_changed);
	judged_release(&rig.judged);
}

/* Table values of t with 4 and 16 degrees of freedom. */
TEST(spread_student_agrees_with_the_tables)
{
	ck_assert_double_eq_tol(spread_student(2.776445, 4), 0.05, 1e-6);
	ck_assert_double_eq_tol(spread_student(8.610302, 4), 0.001, 1e-8);
	ck_assert_double_eq_tol(spread_student(2.119905, 16), 0.05, 1e-6);
	ck_assert_double_eq_tol(spread_student_limit(0.001, 4), 8.610302, 1e-5);
	ck_assert_double_eq_tol(spread_student(0, 4), 1, 1e-12);
}

TEST(spread_median_and_mad_of_few_numbers)
{
	double odd[] = { 5, 1, 3 }, even[] = { 4, 1, 3, 100 };

	ck_assert_double_eq(spread_median(odd, 3), 3);
	ck_assert_double_eq(spread_median(even, 4), 3.5);
	ck_assert_double_eq(spread_median(even, 0), 0);
	ck_assert_double_eq_tol(spread_mad(odd, 3, 3), 1.4826 * 2, 1e-9);
}

/* Variances from one normal distribution: all rows are alike. Very different
 * ones predict nothing about a row. */
TEST(spread_learn_tells_alike_from_unlike)
{
	double variances[200];
	struct spread_prior prior;

	g_seed = 3;
	for (size_t i = 0; i < 200; i++) {
		double sum = 0;

		for (int k = 0; k < 4; k++)
			sum += pow(normal(), 2);
		variances[i] = 9 * sum / 4;
	}
	prior = spread_learn(variances, 200, 4);
	ck_assert_double_ge(prior.prior, 8);
	ck_assert_double_eq_tol(prior.variance, 9, 2);
	for (size_t i = 0; i < 200; i++)
		variances[i] *= pow(10, 6 * uniform());
	prior = spread_learn(variances, 200, 4);
	ck_assert_double_le(prior.prior, 1);
	ck_assert_double_eq(spread_learn(variances, 4, 4).prior, 0);
}
