/* SPDX-License-Identifier: Apache-2.0
 *
 * row_text - rows of runs.h for a person: their names, and values in their
 * units.
 */
#ifndef PERFREC_COLLECTOR_COMPARE_ROW_TEXT_H
#define PERFREC_COLLECTOR_COMPARE_ROW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/compare/runs.h"
#include "collector/show/short_name.h"
#include "collector/show/table.h"

#define ROW_VALUE_TEXT 48

/* Names of the functions of some rows, as short as they can be beside each
 * other. */
struct row_names {
	const struct runs *runs;
	uint32_t *slot; /* of each function: 1 + its number in the names */
	const char **full;
	size_t count;
	struct short_names names;
};

/* Make the names of all functions in the @count rows @rows, with @full_names
 * the full ones. The caller ends *@out with row_names_release(), also after an
 * error. 0 or -ENOMEM. */
int row_names_make(const struct runs *runs, const size_t *rows, size_t count,
		   bool full_names, struct row_names *out);
void row_names_release(struct row_names *names);

/* Add a row with the texts @cells for @row to @table: the name of its function,
 * or its stack, innermost first, a line for each frame; and behind the name
 * what it is called on side B, or that only one side has it. */
void row_add(const struct runs *runs, size_t row, const char *const *cells,
	     struct table *table);

/* Print the name of the function of @row, or those of its stack, innermost
 * first, on one line; and behind it what it was called before, or that only one
 * side has it. */
void row_print(const struct row_names *names, size_t row, FILE *out);

/* A value in the unit of @metric, in @text of ROW_VALUE_TEXT bytes, which is
 * returned; with @sign also "+". */
const char *row_value(const struct runs_metric *metric, double value, bool sign,
		      char *text);

#endif
