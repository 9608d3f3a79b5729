/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_losses - lines about data that a recording lacks, and about surprises
 * for its reader. counters.def has the sentences.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_LOSSES_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_LOSSES_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/read/summary_read.h"

/* Options that stop a program with a budget less: --overhead is the advice
 * without one. */
#define SUMMARY_STOPPED_LESS "a larger --ring-size, or --on-full drop"

/* Returns true if summary_losses_print() would print nothing. */
bool summary_losses_none(const struct summary *summary);

/* Prints one line for each loss, beginning with @prefix. */
void summary_losses_print(const struct summary *summary, const char *prefix,
			  FILE *out);

/* Prints a line with the processes that continued unrecorded after the
 * recording, beginning with @prefix, or nothing. */
void summary_losses_print_went_on(const struct summary *summary,
				  const char *prefix, FILE *out);

/* Prints one line for each surprise that is no loss, such as repaired slices
 * and pauses. */
void summary_losses_print_odd(const struct summary *summary, FILE *out);

#endif
