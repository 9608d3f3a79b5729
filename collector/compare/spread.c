/* SPDX-License-Identifier: Apache-2.0
 *
 * The prior is that of G. K. Smyth, "Linear models and empirical Bayes methods
 * for assessing differential expression in microarray experiments" (2004), by
 * moments of the logarithms of the variances. The tail of Student's t is the
 * incomplete beta function, by its continued fraction.
 */
#include "collector/compare/spread.h"

#include <math.h>
#include <stdlib.h>

#include "shared/compiler.h"

#define PRIOR_ROWS 5 /* fewer rows give no prior */
/* Limit of the prior's degrees of freedom, however similar the rows are. */
#define PRIOR_MAX 12.0
#define STEPS_MAX 300
#define TINY 1e-300

static int compare_doubles(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

double spread_median(double *numbers, size_t count)
{
	if (!count)
		return 0;
	qsort(numbers, count, sizeof(*numbers), compare_doubles);
	return count % 2 ? numbers[count / 2]
			 : (numbers[count / 2 - 1] + numbers[count / 2]) / 2;
}

double spread_mad(double *numbers, size_t count, double middle)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] = fabs(numbers[i] - middle);
	return 1.4826 * spread_median(numbers, count);
}

/* --- the prior ----------------------------------------------------------- */

/* The first and second derivative of the logarithm of the gamma function:
 * recurrence up to arguments where their series converge quickly. */
static double digamma(double x)
{
	double sum = 0;

	while (x < 8) {
		sum -= 1 / x;
		x++;
	}
	return sum + log(x) - 1 / (2 * x) - 1 / (12 * x * x) +
	       1 / (120 * pow(x, 4)) - 1 / (252 * pow(x, 6));
}

static double trigamma(double x)
{
	double sum = 0;

	while (x < 8) {
		sum += 1 / (x * x);
		x++;
	}
	return sum + 1 / x + 1 / (2 * x * x) + 1 / (6 * pow(x, 3)) -
	       1 / (30 * pow(x, 5)) + 1 / (42 * pow(x, 7));
}

/* Returns the x with trigamma(x) = @value; trigamma decreases. */
static double trigamma_inverse(double value)
{
	double low = 1e-3, high = 1e6;

	for (int i = 0; i < 100; i++) {
		double middle = sqrt(low * high);

		if (trigamma(middle) > value)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct spread_prior spread_learn(const double *variances, size_t count,
				 double freedom)
{
	struct spread_prior out = { 0, 0 };
	double mean = 0, square = 0, excess;

	if (count < PRIOR_ROWS || freedom < 1)
		return out;
	for (size_t i = 0; i < count; i++) {
		double e = log(MAX(variances[i], TINY)) - digamma(freedom / 2) +
			   log(freedom / 2);

		mean += e;
		square += e * e;
	}
	mean /= (double)count;
	square = (square - (double)count * mean * mean) / (double)(count - 1);
	excess = square - trigamma(freedom / 2);
	out.prior = excess > 0 ? 2 * trigamma_inverse(excess) : PRIOR_MAX;
	out.prior = MIN(out.prior, PRIOR_MAX);
	out.variance = exp(mean + digamma(out.prior / 2) - log(out.prior / 2));
	return out;
}

/* --- Student's t --------------------------------------------------------- */

/* The continued fraction of the incomplete beta function, by Lentz. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < TINY ? TINY : d);
	h = d;
	for (int m = 1; m < STEPS_MAX; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x /
			     ((a + 2 * m) * (a + 2 * m + 1));
		const double terms[] = { even, odd };
		double before = h;

		for (size_t i = 0; i < ARRAY_SIZE(terms); i++) {
			d = 1 + terms[i] * d;
			d = 1 / (fabs(d) < TINY ? TINY : d);
			c = 1 + terms[i] / c;
			c = fabs(c) < TINY ? TINY : c;
			h *= c * d;
		}
		if (fabs(h - before) < 1e-12 * fabs(h))
			break;
	}
	return h;
}

/* lgamma(3) without its global variable. */
static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

static double beta_incomplete(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) +
		    a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2)
		       ? front * beta_fraction(a, b, x) / a
		       : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double spread_student(double t, double freedom)
{
	return beta_incomplete(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double spread_student_limit(double p, double freedom)
{
	double low = 0, high = 1e9;

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (spread_student(middle, freedom) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}
