/* SPDX-License-Identifier: Apache-2.0
 *
 * together - several recordings as one: for each function the sum of the
 * values, or their spread over the recordings. Medians and percentiles of
 * single calls cannot be added, so there are none.
 */
#ifndef PERFREC_COLLECTOR_COMPARE_TOGETHER_H
#define PERFREC_COLLECTOR_COMPARE_TOGETHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/compare/runs.h"

struct together_options {
	const char *sort; /* a key of together_check_sort(); NULL: self */
	size_t limit; /* rows; 0: all */
	bool full_names;
	bool by_recording;
};

/* A function, or all of them, over the recordings. */
struct together {
	double sum, min, median, max;
	double imbalance; /* max / mean: 1 if all are equal; 0 if all are 0 */
	size_t most; /* the recording with the greatest value */
};

/* Returns true if rows can be sorted by @key; otherwise logs one line. */
bool together_check_sort(const char *key);

/* Returns the statistics of the @count numbers @values, and sorts @values. */
struct together together_values(double *values, size_t count);

/* Returns the statistics of @metric in @row over @runs. @scratch has room for a
 * number for each run. */
struct together together_row(const struct runs *runs, size_t row, size_t metric,
			     double *scratch);

/* Returns the rows with a value, the largest by options->sort first: an array
 * of *@count numbers, which the caller frees. NULL, after one line in the log,
 * without memory or if the recordings lack the value of options->sort. */
size_t *together_rows(const struct runs *runs,
		      const struct together_options *options, size_t *count);

/* The error of a row's sum of self times. */
struct together_error {
	uint64_t samples; /* number of samples; 0: times from calls, or none */
	double ns; /* the root of the sum of squares; the largest bound for a
		    * function without a sample */
};

/* Returns an array with an element for each row, which the caller frees; NULL
 * without memory. */
struct together_error *together_errors(const struct runs *runs);

/* Returns "rank 3" if every recording has one rank and all ranks differ, or the
 * folder. */
const char *together_name(const struct runs *runs, size_t run, char text[32]);

/* Both return 0; -ENOMEM; -EIO if @out cannot be written; or -EINVAL after one
 * line in the log. JSON has all values. */
int together_print(const struct runs *runs,
		   const struct together_options *options, FILE *out);
int together_write_json(const struct runs *runs,
			const struct together_options *options, FILE *out);

#endif
