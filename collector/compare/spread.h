/* SPDX-License-Identifier: Apache-2.0
 *
 * spread - the statistics of few numbers: medians, and whether two groups of
 * them differ by more than chance. Pure functions; any thread.
 */
#ifndef PERFREC_COLLECTOR_COMPARE_SPREAD_H
#define PERFREC_COLLECTOR_COMPARE_SPREAD_H

#include <stddef.h>

/* Sorts the @count numbers and returns their median; 0 if there are none. */
double spread_median(double *numbers, size_t count);
/* Returns the median of the numbers' distances from @middle, times 1.4826: the
 * standard deviation of a normal distribution. Changes @numbers. */
double spread_mad(double *numbers, size_t count, double middle);

/*
 * The prior that many rows give for the variance of one row. Each row's
 * variance has @freedom degrees of freedom. The true variances are assumed to
 * come from a distribution with the centre @variance, as narrow as an estimate
 * with @prior degrees of freedom. 0: the rows have too little in common, or are
 * too few.
 */
struct spread_prior {
	double variance, prior;
};
struct spread_prior spread_learn(const double *variances, size_t count,
				 double freedom);

/* Returns the probability that Student's t with @freedom degrees of freedom is
 * farther from 0 than @t. */
double spread_student(double t, double freedom);
/* Returns the t that is exceeded with probability @p, on both ends together. */
double spread_student_limit(double p, double freedom);

#endif
