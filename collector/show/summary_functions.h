/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_functions - the table of functions of a summary, for a person.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_FUNCTIONS_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "collector/read/summary_read.h"

struct terminal;

/* The rows of the table, and how they look. */
struct summary_rows {
	const char *dir; /* of the recording, as the user wrote it */
	enum summary_order order; /* how they are sorted */
	size_t limit; /* how many; 0: all */
	bool full_names; /* names are neither short nor cut */
};

/* Prints the functions of @summary in their present order, and what the marks
 * of the table mean; nothing if no function was called. @terminal: NULL for
 * Markdown. 0 or -ENOMEM. */
int summary_functions_print(const struct summary *summary,
			    const struct summary_rows *rows,
			    const struct terminal *terminal, FILE *out);

#endif
