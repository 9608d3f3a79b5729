/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_slowed - reports the slowdown by recording and its effect on the
 * figures.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_SLOWED_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_SLOWED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "collector/read/summary_read.h"

/* Appended to titles of columns that summary_is_slowed() falsifies. */
#define SUMMARY_SLOWED_MARK "*"

/* Returns true if threads waited for other threads that recording slowed much.
 * Then wall and blocked times differ from those of an unrecorded run. Returns
 * false if unknown. */
bool summary_is_slowed(const struct summary *summary);
#define SUMMARY_SLOWED_TEXT 64
/* If recording slowed the run much, writes "recording made this run about 3.2 x
 * slower" to @text, of @room bytes (SUMMARY_SLOWED_TEXT), and returns true. */
bool summary_slowed_text(const struct summary *summary, char *text,
			 size_t room);
/* Returns the command that would slow the run less. */
const char *summary_slowed_next(const struct summary *summary);
/* If recording slowed the run much, prints the affected times and the next
 * command to @out, below a fact that has the factor (summary_trust_print()). */
void summary_slowed_print_effect(const struct summary *summary, FILE *out);
/* The same with a line for the factor. */
void summary_slowed_print(const struct summary *summary, FILE *out);
/* Explains SUMMARY_SLOWED_MARK below a table, if summary_is_slowed(). */
void summary_slowed_print_mark(const struct summary *summary, FILE *out);

#endif
