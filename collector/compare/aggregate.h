/* SPDX-License-Identifier: Apache-2.0
 *
 * aggregate - how far the runs of one program are from each other, for each
 * function: the least, the median and the most that a run has, the standard
 * deviation, and the median distance from the median (MAD, times 1.4826: equal
 * to the standard deviation of values that are normal).
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
	size_t metric; /* that is shown, and that rows are sorted by */
	size_t limit; /* rows; 0: all */
	bool full_names;
};

/* What the runs of @runs have of @metric in @row; a run without the row has 0.
 * @scratch has room for a number for each run. */
struct aggregate aggregate_row(const struct runs *runs, size_t row,
			       size_t metric, double *scratch);

/* Both return 0, -ENOMEM, or -EIO if @out cannot be written. The JSON has all
 * values. */
int aggregate_print(const struct runs *runs,
		    const struct aggregate_options *options, FILE *out);
int aggregate_write_json(const struct runs *runs,
			 const struct aggregate_options *options, FILE *out);

/* The rows of @runs that are not 0 in @metric, the largest median first: an
 * array of *@count, which the caller frees; NULL: no memory. */
size_t *aggregate_rows(const struct runs *runs, size_t metric, size_t *count);

#endif
