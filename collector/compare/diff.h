/* SPDX-License-Identifier: Apache-2.0
 *
 * diff - prints the differences of two sides of runs as text or JSON, and tests
 * the conditions of --fail-if.
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
 * Returns the numbers of the rows of @metric that differ, *@count of them, in
 * an array that the caller frees; NULL without memory. Changed rows are first,
 * then rows that may have changed, each with the largest difference first.
 */
size_t *diff_rows(const struct diff *diff, size_t metric, size_t *count);

/* Prints how the differences of @metric were judged, and how many are changes:
 * a part of a sentence, without a newline. */
void diff_print_judgement(const struct diff *diff, size_t metric, FILE *out);

/* Writes warning number @i (from 0) about the runs to @text, of @room bytes,
 * for example that they are of different programs. Returns false if there is
 * none. */
bool diff_note(const struct runs *runs, size_t i, char *text, size_t room);
/* Prints all warnings to @out, each as a line. */
void diff_print_notes(const struct runs *runs, FILE *out);

/* Returns true if condition number @condition holds for @row. */
bool diff_holds(const struct diff *diff, size_t condition, size_t row);
/* Returns 0 if @condition can be tested: the runs have its value in its unit
 * and, unless allow_absent is set, a function matches. Otherwise logs one line
 * and returns -EINVAL. */
int diff_check_condition(const struct diff *diff, size_t condition);
/* Prints a line to @out for each condition and function for which it holds, and
 * returns their number. Logs a warning for growth beyond a condition that may
 * be chance. */
size_t diff_print_failed(const struct diff *diff,
			 const struct diff_options *options, FILE *out);

#endif
