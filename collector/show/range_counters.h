/* SPDX-License-Identifier: Apache-2.0
 *
 * range_counters - the values of counters in a range of a recording: at the
 * start of the range, least, greatest and last.
 */
#ifndef PERFREC_COLLECTOR_SHOW_RANGE_COUNTERS_H
#define PERFREC_COLLECTOR_SHOW_RANGE_COUNTERS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/read/curves.h"
#include "collector/show/terminal.h"

struct range_counters {
	const struct curves *curves; /* in one bucket; may be NULL */
	const char *thread; /* only its counters; NULL: all */
	size_t limit; /* rows; 0: all */
};

struct counter_row {
	const struct curve *curve;
	const char *name, *unit; /* "": none */
	/* The owner; NULL: none or unknown. */
	const struct trace_track *thread, *process;
	const char *owner; /* its name, or "" */
	union curve_value min, max, last;
};

/* Returns *@count rows sorted by name for the caller to free, or NULL without
 * memory. */
struct counter_row *range_counters_rows(const struct range_counters *counters,
					size_t *count);

/* Prints a table to @out, or nothing without counters. @terminal NULL:
 * Markdown. Returns 0 or -ENOMEM. */
int range_counters_print(const struct range_counters *counters,
			 const struct terminal *terminal, FILE *out);

#endif
