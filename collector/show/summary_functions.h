/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_functions - the table of functions in a summary.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_FUNCTIONS_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "collector/read/summary_read.h"

struct terminal;

struct summary_rows {
	const char *dir; /* of the recording, as given by the user */
	enum summary_order order; /* SUMMARY_BY_USUAL: chosen from the times */
	size_t limit; /* rows; 0: all */
	bool full_names; /* neither shorten nor cut names */
};

/* Sorts the functions of @summary, prints them, and explains the order and the
 * marks. Prints nothing if no function was called. @terminal NULL: Markdown.
 * Returns 0 or -ENOMEM. */
int summary_functions_print(struct summary *summary,
			    const struct summary_rows *rows,
			    const struct terminal *terminal, FILE *out);

#endif
