/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_print - a summary for a person: what ran, where its time went, what
 * was lost, what recording cost, and what to do about it. Names come from
 * the recorded program; whatever a terminal could take for a command is
 * shown as '?'.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_PRINT_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_PRINT_H

#include <stddef.h>
#include <stdio.h>

#include "collector/read/summary_read.h"

#define SUMMARY_LIMIT 20 /* rows that fit on a screen */

struct summary_print_options {
	const char *dir; /* of the recording, as the user knows it */
	enum summary_order order; /* of the table of functions */
	size_t limit; /* its rows; 0: all */
};

/* Sorts the functions of @summary by the way. 0, or -EIO. */
int summary_print(struct summary *summary,
		  const struct summary_print_options *options, FILE *out);

#endif
