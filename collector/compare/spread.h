/* SPDX-License-Identifier: Apache-2.0
 *
 * spread - the statistics of few numbers: medians, and whether two groups of
 * them differ by more than chance. Pure functions; any thread.
 */
#ifndef PERFREC_COLLECTOR_COMPARE_SPREAD_H
#define PERFREC_COLLECTOR_COMPARE_SPREAD_H

#include <stddef.h>

/* The median of @count numbers, which are sorted by it; 0 if there are none. */
double spread_median(double *numbers, size_t count);
/* The median of their distances from @middle, times 1.4826: the standard
 * deviation, if they are normal. @numbers are changed. */
double spread_mad(double *numbers, size_t count, double middle);

/*
 * What the spreads of many rows say of the spread of one. Each has a variance
 * from @freedom degrees of freedom. The variances of the rows themselves are
 * taken to be drawn from a distribution with the centre @variance, which is as
 * narrow as if it had been known from @prior degrees of freedom. 0: the rows
 * have too little in common, or there are too few of them.
 */
struct spread_prior {
	double variance, prior;
};
struct spread_prior spread_learn(const double *variances, size_t count,
				 double freedom);

/* The probability that Student's t with @freedom degrees of freedom is farther
 * from 0 than @t. */
double spread_student(double t, double freedom);
/* The t that is exceeded with probability @p, on both ends together. */
double spread_student_limit(double p, double freedom);

#endif
