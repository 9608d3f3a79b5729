/* SPDX-License-Identifier: Apache-2.0
 *
 * range_counters - what counters were in a range of a recording: the value at
 * the begin of the range, the least and the greatest one in it, and the last
 * one.
 */
#ifndef PERFREC_COLLECTOR_SHOW_RANGE_COUNTERS_H
#define PERFREC_COLLECTOR_SHOW_RANGE_COUNTERS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/read/curves.h"
#include "collector/show/terminal.h"

struct range_counters {
	const struct curves *curves; /* in one bucket; NULL: none were read */
	const char *thread; /* only its own counters; NULL: all */
	size_t limit; /* rows; 0: all */
};

struct counter_row {
	const struct curve *curve;
	const char *name, *unit; /* "": none */
	/* What it is a counter of; NULL: of none that is known. */
	const struct trace_track *thread, *process;
	const char *owner; /* the name of it; "": none */
	union curve_value min, max, last; /* in the range */
};

/* Sorted by name: *@count rows, which the caller frees. NULL: no memory. */
struct counter_row *range_counters_rows(const struct range_counters *counters,
					size_t *count);

/* Prints a table to @out, or nothing if there is no counter. @terminal: NULL
 * for Markdown. 0 or -ENOMEM. */
int range_counters_print(const struct range_counters *counters,
			 const struct terminal *terminal, FILE *out);

#endif
