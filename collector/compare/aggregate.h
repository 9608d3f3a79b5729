/* SPDX-License-Identifier: Apache-2.0
 *
 * aggregate - the spread of several runs of a program, for each function: the
 * least, the median and the greatest value, the standard deviation, and the
 * median distance from the median (MAD, times 1.4826: for normally distributed
 * values that is the standard deviation).
 */
#ifndef PERFREC_COLLECTOR_COMPARE_AGGREGATE_H
#define PERFREC_COLLECTOR_COMPARE_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "collector/compare/runs.h"

struct aggregate {
	double min, median, max, deviation, mad;
};

struct aggregate_options {
	size_t metric; /* to show, and to sort rows by */
	size_t limit; /* rows; 0: all */
	bool full_names;
};

/* Returns the spread of @metric in @row; a run without the row has 0. @scratch
 * has room for a number for each run. */
struct aggregate aggregate_row(const struct runs *runs, size_t row,
			       size_t metric, double *scratch);

/* Both return 0, -ENOMEM, or -EIO if @out cannot be written. JSON has all
 * metrics.
 */
int aggregate_print(const struct runs *runs,
		    const struct aggregate_options *options, FILE *out);
int aggregate_write_json(const struct runs *runs,
			 const struct aggregate_options *options, FILE *out);

/* Returns the rows of @runs that are not 0 in @metric, the largest median
 * first: an array of *@count numbers, which the caller frees; NULL without
 * memory. */
size_t *aggregate_rows(const struct runs *runs, size_t metric, size_t *count);

#endif
