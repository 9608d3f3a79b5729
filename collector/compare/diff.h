/* SPDX-License-Identifier: Apache-2.0
 *
 * diff - the differences of two sides of runs, as text for a person or as JSON,
 * and whether they are a reason to fail.
 */
#ifndef PERFREC_COLLECTOR_COMPARE_DIFF_H
#define PERFREC_COLLECTOR_COMPARE_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "collector/compare/judge.h"
#include "collector/compare/runs.h"
#include "collector/options/expression.h"

struct diff {
	const struct runs *runs;
	struct judged judged;
	/* Of --fail-if. */
	const struct expression *conditions;
	size_t condition_count;
	bool allow_absent; /* a condition need not match a function */
};

struct diff_options {
	size_t limit; /* rows of each table; 0: all */
	bool full_names;
};

/* Both return 0, -ENOMEM, or -EIO if @out cannot be written. */
int diff_print(const struct diff *diff, const struct diff_options *options,
	       FILE *out);
int diff_write_json(const struct diff *diff, FILE *out);

/*
 * The rows of @metric that differ, those that changed first, then those that
 * may have changed, then the largest difference first: their numbers, *@count
 * of them, in an array that the caller frees; NULL: no memory.
 */
size_t *diff_rows(const struct diff *diff, size_t metric, size_t *count);

/* What a person should know of the runs before anything else, such as that they
 * are of different programs: a sentence in @text for each number @i from 0 on,
 * of @room bytes. Whether there is one. */
bool diff_note(const struct runs *runs, size_t i, char *text, size_t room);
/* Prints them all to @out, each as a line. */
void diff_print_notes(const struct runs *runs, FILE *out);

/* Whether condition @condition holds for @row. */
bool diff_holds(const struct diff *diff, size_t condition, size_t row);
/* Whether @condition can be tested: whether the runs have its value, in its
 * unit, and some function matches, if allow_absent is not set. Returns 0, or
 * -EINVAL after one line in the log. */
int diff_check_condition(const struct diff *diff, size_t condition);
/* Print to @out which conditions hold, for which functions: a line for each.
 * Returns how many. The log has a warning for each condition about growth that
 * was beyond it and may be chance. */
size_t diff_print_failed(const struct diff *diff,
			 const struct diff_options *options, FILE *out);

#endif
