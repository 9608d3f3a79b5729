/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_print - a summary for a person: what ran, where its time went, what
 * was lost, what recording cost, and how to make it cheaper. Names come from
 * the recorded program: a character that a terminal could take for a command is
 * shown as '?'.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_PRINT_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_PRINT_H

#include <stddef.h>
#include <stdio.h>

#include <stdbool.h>

#include "collector/read/summary_read.h"

#define SUMMARY_LIMIT 20 /* rows that fit on a screen */

struct summary_print_options {
	const char *dir; /* of the recording, as the user wrote it */
	enum summary_order order; /* of the rows of the table of functions */
	size_t limit; /* rows of that table; 0: all */
	bool full_names; /* names of functions are neither short nor cut */
	bool raw; /* its times are those that were measured */
};

/* Print @summary to @out, and sort its functions as @options says. It
 * fits @out if that is a terminal. 0; -EIO: @out cannot be written; or -ENOMEM.
 */
int summary_print(struct summary *summary,
		  const struct summary_print_options *options, FILE *out);

/* The same as Markdown, for a bug report: what ran, without its folder and
 * without files, and if @with_functions is set the table of functions. */
int summary_print_markdown(struct summary *summary,
			   const struct summary_print_options *options,
			   bool with_functions, FILE *out);

#endif
