/* SPDX-License-Identifier: Apache-2.0
 *
 * row_text - formats rows of runs.h: names, and values with units.
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

/* The short names of the functions of some rows, distinct from each other. */
struct row_names {
	const struct runs *runs;
	uint32_t *slot; /* of each function: 1 + its number in the names */
	const char **full;
	size_t count;
	struct short_names names;
};

/* Sets *@out to the names of all functions in the @count rows @rows; whole
 * names with @full_names. The caller frees *@out with row_names_release(), even
 * after an error. Returns 0 or -ENOMEM. */
int row_names_make(const struct runs *runs, const size_t *rows, size_t count,
		   bool full_names, struct row_names *out);
void row_names_release(struct row_names *names);

/* Adds @row with the texts @cells to @table: the name of its function, or its
 * stack, innermost first, with a line for each frame. A remark follows the
 * name: the name on side B, or the only side that has the function. */
void row_add(const struct runs *runs, size_t row, const char *const *cells,
	     struct table *table);

/* Prints the name of @row's function, or the names of its stack, innermost
 * first, on one line. A remark follows: the earlier name, or the only side that
 * has it. */
void row_print(const struct row_names *names, size_t row, FILE *out);

/* Writes @value in the unit of @metric to @text, of ROW_VALUE_TEXT bytes, and
 * returns it; with @sign also "+". */
const char *row_value(const struct runs_metric *metric, double value, bool sign,
		      char *text);

#endif
