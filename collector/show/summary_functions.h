/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_functions - the table of functions of a summary, for a person.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_FUNCTIONS_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_FUNCTIONS_H

#include <stdio.h>

#include "collector/show/summary_print.h"

struct terminal;

/* Prints the functions of @summary in their present order, and what the marks
 * of the table mean; nothing if no function was called. @terminal: NULL for
 * Markdown. 0 or -ENOMEM. */
int summary_functions_print(const struct summary *summary,
			    const struct summary_print_options *options,
			    const struct terminal *terminal, FILE *out);

#endif
