/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules, in the order of docs/JSON.md. Counts that do not vary are exact.
 * All other metrics have a spread. A row has changed if three conditions hold:
 * its sides do not overlap; their difference is far beyond the spread of this
 * row and of similar rows, corrected for the number of rows; and it differs
 * from the common change of all rows, because a slower machine moves all of
 * them.
 */
#include "collector/compare/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/compare/spread.h"
#include "shared/compiler.h"

#define EXACT_RUNS 2 /* per side; one cannot show that counts do not vary */
#define ALPHA 0.001 /* probability that chance makes any row changed */
#define SHARE_LEAST 0.005 /* of the metric's sum: a smaller row is not judged */
#define CHANGE_LEAST 0.01 /* of a row: a smaller difference is no change */
#define SPREAD_LEAST 1e-4 /* of a row: a smaller spread is chance */
#define CONTROLS 5 /* rows that show the common change of all rows */
#define CONTROL_SPREADS 8 /* of a change from the common change, at least */
#define ALONE_LEAST 0.05 /* of a change, with too few rows for a common one */
#define ALONE_RANGES 3

/* A row whose spread is judged. All figures are shares of its mean. */
struct judged_row {
	size_t row;
	double difference; /* between the means of both sides */
	double variance; /* of a run, from both sides */
	bool apart; /* the sides do not overlap */
};

struct judging {
	const struct runs *runs;
	struct judged *out;
	size_t spread_metrics; /* number of metrics judged by the spread */
	/* The metric at hand. */
	size_t metric;
	struct judged_row *rows;
	size_t count;
	double *scratch; /* a number for each row or run, whichever are more */
};

/* --- the cells ----------------------------------------------------------- */

static struct judge_cell *cell_at(const struct judged *judged, size_t row,
				  size_t metric)
{
	return &judged->cells[row * judged->metric_count + metric];
}

static void fill_side(const struct judging *by, size_t row, size_t metric,
		      bool side_b, double *median, double *min, double *max)
{
	const struct runs *runs = by->runs;
	size_t from = side_b ? runs->first_b : 0;
	size_t to = side_b ? runs->count : runs->first_b;

	for (size_t i = from; i < to; i++)
		by->scratch[i - from] =
			(double)runs_value(runs, row, metric, i);
	*median = spread_median(by->scratch, to - from);
	*min = to > from ? by->scratch[0] : 0;
	*max = to > from ? by->scratch[to - from - 1] : 0;
}

/* --- how to judge a metric ----------------------------------------------- */

/* Returns true if a row has different values in two runs of one side. */
static bool varies(const struct judging *by, size_t metric)
{
	for (size_t row = 0; row < runs_row_count(by->runs); row++) {
		const struct judge_cell *cell = cell_at(by->out, row, metric);

		if (cell->a_min != cell->a_max || cell->b_min != cell->b_max)
			return true;
	}
	return false;
}

/* Returns why counts may differ between runs; NULL if they cannot. */
static const char *why_not_exact(const struct runs *runs)
{
	for (size_t i = 0; i < runs->count; i++) {
		if (!runs->list[i].single_threaded)
			return "a process has several threads";
		if (!runs->list[i].complete)
			return "a recording is not complete";
	}
	return NULL;
}

static void choose_how(const struct judging *by, size_t metric)
{
	const struct runs *runs = by->runs;
	struct judge_metric *out = &by->out->metric[metric];
	size_t least = MIN(runs->first_b, runs->count - runs->first_b);
	const char *why = runs->metric[metric].random
				  ? "what else the machine does varies"
				  : "times and samples vary";

	if (least < EXACT_RUNS) {
		out->why = runs->count == EXACT_RUNS ? "one run each"
						     : "a side has one run";
		return;
	}
	if (!runs->metric[metric].sampled && !runs->metric[metric].random &&
	    strcmp(runs->metric[metric].unit, "nanoseconds") != 0) {
		why = why_not_exact(runs);
		if (!why && varies(by, metric))
			why = "counts vary from run to run";
	}
	if (!why)
		out->how = JUDGE_EXACT;
	else if (least >= JUDGE_RUNS)
		out->how = JUDGE_SPREAD;
	out->why = why;
}

/* --- exact --------------------------------------------------------------- */

static void judge_exact(const struct judging *by)
{
	for (size_t row = 0; row < runs_row_count(by->runs); row++) {
		struct judge_cell *cell = cell_at(by->out, row, by->metric);

		cell->changed = cell->a != cell->b;
	}
}

/* --- the spread ---------------------------------------------------------- */

/* Returns the least variance of a row with mean @mean: counts of random events
 * have Poisson's. */
static double least_variance(const struct runs_metric *metric, double mean)
{
	double least = SPREAD_LEAST * SPREAD_LEAST;

	if (metric->sampled)
		least = MAX(least, metric->grain / mean);
	else if (strcmp(metric->unit, "nanoseconds") != 0)
		least = MAX(least, 1 / mean);
	return least;
}

struct moments {
	double mean, squares; /* sum of the squares of the distances from it */
};

static struct moments side_moments(const struct judging *by, size_t row,
				   size_t from, size_t to)
{
	struct moments out = { 0, 0 };

	for (size_t i = from; i < to; i++)
		out.mean += (double)runs_value(by->runs, row, by->metric, i);
	out.mean /= (double)(to - from);
	for (size_t i = from; i < to; i++) {
		double far = (double)runs_value(by->runs, row, by->metric, i) -
			     out.mean;

		out.squares += far * far;
	}
	return out;
}

/* Returns the degrees of freedom of a row's variance. */
static double freedom(const struct runs *runs)
{
	return (double)runs->count - 2;
}

static void judge_row(struct judging *by, size_t row)
{
	const struct runs *runs = by->runs;
	const struct judge_cell *cell = cell_at(by->out, row, by->metric);
	struct moments a = side_moments(by, row, 0, runs->first_b);
	struct moments b = side_moments(by, row, runs->first_b, runs->count);
	double mean = (a.mean + b.mean) / 2;

	by->rows[by->count++] = (struct judged_row){
		.row = row,
		.difference = (b.mean - a.mean) / mean,
		.variance = MAX(
			(a.squares + b.squares) / freedom(runs) / (mean * mean),
			least_variance(&runs->metric[by->metric], mean)),
		.apart = cell->b_min > cell->a_max || cell->a_min > cell->b_max,
	};
}

/* Returns the median of the sums of a side's runs. Sets *@range to their range
 * as a share of the median. */
static double side_sum(const struct judging *by, bool side_b, double *range)
{
	const struct runs *runs = by->runs;
	size_t from = side_b ? runs->first_b : 0;
	size_t count = side_b ? runs->count - runs->first_b : runs->first_b;
	double median;

	for (size_t i = 0; i < count; i++)
		by->scratch[i] = (double)runs->sum[by->metric][from + i];
	median = spread_median(by->scratch, count);
	*range = median > 0 ? (by->scratch[count - 1] - by->scratch[0]) / median
			    : 0;
	return median;
}

/* Collects the rows that are large enough. Returns the range of the sums of a
 * side's runs. */
static double collect_rows(struct judging *by)
{
	double range_a, range_b;
	double all = MAX(side_sum(by, false, &range_a),
			 side_sum(by, true, &range_b));

	by->count = 0;
	for (size_t row = 0; row < runs_row_count(by->runs); row++) {
		const struct judge_cell *cell =
			cell_at(by->out, row, by->metric);
		double size = MAX(cell->a, cell->b);

		if (size > 0 && cell->a_min >= 0 && cell->b_min >= 0 &&
		    size >= all * SHARE_LEAST)
			judge_row(by, row);
	}
	return MAX(range_a, range_b);
}

/* The common change of all rows, and the rows' spread around it without the
 * spread of their runs. */
struct common_change {
	double difference, spread;
};

static struct common_change find_common_change(const struct judging *by)
{
	struct common_change out;

	for (size_t i = 0; i < by->count; i++)
		by->scratch[i] = by->rows[i].difference;
	out.difference = spread_median(by->scratch, by->count);
	out.spread = spread_mad(by->scratch, by->count, out.difference);
	return out;
}

static struct spread_prior learn(const struct judging *by)
{
	for (size_t i = 0; i < by->count; i++)
		by->scratch[i] = by->rows[i].variance;
	return spread_learn(by->scratch, by->count, freedom(by->runs));
}

/* Returns the standard error of a difference between the sides, by the variance
 * of a run. */
static double error_of_variance(const struct runs *runs, double variance)
{
	double a = (double)runs->first_b;
	double b = (double)(runs->count - runs->first_b);

	return sqrt(variance * (1 / a + 1 / b));
}

/* The threshold of a difference, for a metric. */
struct bar {
	struct spread_prior prior;
	double limit; /* in standard errors */
	bool alone; /* too few rows for a common change */
	struct common_change all;
	double range; /* of the sums of runs of a side */
};

static struct bar make_bar(const struct judging *by, double range)
{
	struct bar bar = { .prior = learn(by),
			   .alone = by->count < CONTROLS,
			   .all = find_common_change(by),
			   .range = range };
	double tests = (double)(by->count * by->spread_metrics), error;

	bar.limit = spread_student_limit(ALPHA / tests,
					 freedom(by->runs) + bar.prior.prior);
	/* The limit already contains the spread of the runs. */
	error = error_of_variance(by->runs, bar.prior.variance);
	bar.all.spread =
		sqrt(MAX(bar.all.spread * bar.all.spread - error * error, 0));
	return bar;
}

static bool stands_out(const struct runs *runs, const struct bar *bar,
		       const struct judged_row *row)
{
	double own = freedom(runs), prior = bar->prior.prior;
	double variance = (own * row->variance + prior * bar->prior.variance) /
			  (own + prior);
	double error = bar->limit * error_of_variance(runs, variance);
	double far = fabs(row->difference - bar->all.difference);
	double change = fabs(row->difference);

	if (!row->apart || change < CHANGE_LEAST || change < error)
		return false;
	if (bar->alone)
		return change >= MAX(ALONE_LEAST, ALONE_RANGES * bar->range);
	return far >= MAX(CHANGE_LEAST, error) &&
	       far >= CONTROL_SPREADS * bar->all.spread;
}

static void judge_spread(struct judging *by)
{
	double range = collect_rows(by);
	struct judge_metric *out = &by->out->metric[by->metric];
	struct bar bar;

	out->judged = by->count;
	if (!by->count)
		return;
	bar = make_bar(by, range);
	for (size_t i = 0; i < by->count; i++)
		by->scratch[i] = by->rows[i].variance;
	out->least = bar.limit *
		     error_of_variance(by->runs,
				       spread_median(by->scratch, by->count));
	out->least = MAX(out->least,
			 bar.alone ? MAX(ALONE_LEAST, ALONE_RANGES * range)
				   : CHANGE_LEAST);
	for (size_t i = 0; i < by->count; i++) {
		const struct judged_row *row = &by->rows[i];
		struct judge_cell *cell =
			cell_at(by->out, row->row, by->metric);

		cell->changed = stands_out(by->runs, &bar, row);
		cell->may_have_changed = !cell->changed && row->apart &&
					 fabs(row->difference) >= CHANGE_LEAST;
	}
}

/* --- all of it ----------------------------------------------------------- */

static void judge_all(struct judging *by)
{
	for (size_t row = 0; row < runs_row_count(by->runs); row++) {
		for (size_t m = 0; m < by->runs->metric_count; m++) {
			struct judge_cell *cell = cell_at(by->out, row, m);

			fill_side(by, row, m, false, &cell->a, &cell->a_min,
				  &cell->a_max);
			fill_side(by, row, m, true, &cell->b, &cell->b_min,
				  &cell->b_max);
		}
	}
	for (size_t m = 0; m < by->out->metric_count; m++) {
		choose_how(by, m);
		by->spread_metrics += by->out->metric[m].how == JUDGE_SPREAD;
	}
	for (by->metric = 0; by->metric < by->out->metric_count; by->metric++) {
		if (by->out->metric[by->metric].how == JUDGE_EXACT)
			judge_exact(by);
		else if (by->out->metric[by->metric].how == JUDGE_SPREAD)
			judge_spread(by);
	}
}

int judge(const struct runs *runs, struct judged *out)
{
	size_t rows = runs_row_count(runs);
	struct judging by = { .runs = runs, .out = out };

	*out = (struct judged){ .metric_count = runs->metric_count };
	out->cells = calloc(rows * runs->metric_count + 1, sizeof(*out->cells));
	by.rows = calloc(rows + 1, sizeof(*by.rows));
	by.scratch = calloc(MAX(rows, runs->count) + 1, sizeof(*by.scratch));
	if (out->cells && by.rows && by.scratch)
		judge_all(&by);
	else
		judged_release(out);
	free(by.rows);
	free(by.scratch);
	return out->cells ? 0 : -ENOMEM;
}

void judged_release(struct judged *judged)
{
	free(judged->cells);
	*judged = (struct judged){ 0 };
}

double judge_half_range(const struct judge_cell *cell)
{
	double a = cell->a > 0 ? (cell->a_max - cell->a_min) / cell->a : 0;
	double b = cell->b > 0 ? (cell->b_max - cell->b_min) / cell->b : 0;

	return MAX(a, b) / 2;
}

const struct judge_cell *judged_cell(const struct judged *judged, size_t row,
				     size_t metric)
{
	return cell_at(judged, row, metric);
}
