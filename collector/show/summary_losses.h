/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_losses - lines for a person about what a recording lacks, and about
 * what may surprise its reader. Their sentences are in counters.def.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_LOSSES_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_LOSSES_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/read/summary_read.h"

/* Whether nothing is missing: summary_losses_print() would print nothing. */
bool summary_losses_none(const struct summary *summary);

/* Print what is missing from the recording to @out: one line for each loss,
 * which begins with @prefix. */
void summary_losses_print(const struct summary *summary, const char *prefix,
			  FILE *out);

/* Print to @out which processes went on unrecorded when the recording ended: a
 * line that begins with @prefix, or nothing if there were none. */
void summary_losses_print_went_on(const struct summary *summary,
				  const char *prefix, FILE *out);

/* Print to @out what is no loss, but may surprise: repaired slices, pauses and
 * the like, one line for each. */
void summary_losses_print_odd(const struct summary *summary, FILE *out);

#endif
