/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_slowed - how much slower a program ran because it was recorded, and
 * what its figures mean then. web/head.js says the same on a page.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_SLOWED_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_SLOWED_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/read/summary_read.h"

/* Behind the titles of columns whose times summary_is_slowed() makes wrong. */
#define SUMMARY_SLOWED_MARK "*"

/* Whether several threads ran so much slower that they waited for threads that
 * perfrec had slowed: then wall and blocked times are not those of a run that
 * is not recorded. False if that is not known. */
bool summary_is_slowed(const struct summary *summary);
/* If recording made the run much slower, prints the headline to @out, in the
 * form of the facts about a run: the factor, the times that are wrong, and the
 * next command. Returns whether it did. */
bool summary_slowed_print(const struct summary *summary, FILE *out);
/* Prints below a table what SUMMARY_SLOWED_MARK means, if summary_is_slowed().
 */
void summary_slowed_print_mark(const struct summary *summary, FILE *out);

#endif
