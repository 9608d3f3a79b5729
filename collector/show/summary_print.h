/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_print - a summary for people: the program, where its time went,
 * losses, and the cost of recording with advice. Names come from the recorded
 * program, so control characters are shown as '?'.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_PRINT_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_PRINT_H

#include <stddef.h>
#include <stdio.h>

#include <stdbool.h>

#include "collector/read/summary_read.h"

#define SUMMARY_LIMIT 20 /* rows that fit on a screen */

struct summary_print_options {
	const char *dir; /* of the recording, as given by the user */
	enum summary_order order; /* of the table of functions */
	size_t limit; /* rows of that table; 0: all */
	bool full_names; /* neither shorten nor cut names */
	bool raw; /* times as measured */
	bool verbose; /* what the cost of recording consists of */
};

/* Prints @summary to @out; sorts its functions as @options says.
 * Adapts to a terminal. Returns 0, -EIO if @out cannot be written, or
 * -ENOMEM. */
int summary_print(struct summary *summary,
		  const struct summary_print_options *options, FILE *out);

/* Prints Markdown for a bug report: the facts without folder and files; with
 * @with_functions also the table of functions. */
int summary_print_markdown(struct summary *summary,
			   const struct summary_print_options *options,
			   bool with_functions, FILE *out);

#endif
