/* SPDX-License-Identifier: Apache-2.0
 *
 * range_report - functions in a range of a recording, or in one thread, as text
 * and as JSON: calls, self and total time, and the longest call. Only needs the
 * trace.
 */
#ifndef PERFREC_COLLECTOR_SHOW_RANGE_REPORT_H
#define PERFREC_COLLECTOR_SHOW_RANGE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "collector/read/time_range.h"
#include "collector/read/trace_sums.h"
#include "collector/show/range_counters.h"

#define RANGE_REPORT_VERSION 1

enum range_order {
	RANGE_BY_SELF,
	RANGE_BY_TOTAL,
	RANGE_BY_CALLS,
	RANGE_BY_MAX,
	RANGE_BY_NAME,
};

struct range_report {
	const char *dir; /* of the recording, as given by the user */
	const struct trace_sums *sums; /* of the range and the thread */
	const struct curves *curves; /* of the range in one bucket, or NULL */
	struct trace_bounds bounds;
	struct time_range range; /* CLOCK_BOOTTIME */
	const char *thread; /* as given by the user; NULL: all */
	enum range_order order;
	size_t limit; /* rows; 0: all */
	bool full_names; /* neither shorten nor cut names */
};

struct range_row {
	const struct sums_function *function;
	const char *name;
	uint64_t key; /* rows are sorted by it, largest first */
};

/* Sets *@order for @key ("self"). Returns false for an unknown key, with *@keys
 * set to a static text that lists all keys. */
bool range_report_find_order(const char *key, enum range_order *order,
			     const char **keys);

/* Prints @report to @out. Adapts to a terminal. Returns 0, -EIO if @out cannot
 * be written, or -ENOMEM. */
int range_report_print(const struct range_report *report, FILE *out);
/* Prints Markdown: a title, the facts and the table. */
int range_report_print_markdown(const struct range_report *report, FILE *out);
int range_report_write_json(const struct range_report *report, FILE *out);

/* Returns all rows of @report, sorted, for the caller to free; NULL without
 * memory. */
struct range_row *range_report_rows(const struct range_report *report);
/* Returns the number of rows to show. */
size_t range_report_shown(const struct range_report *report);
struct range_counters range_report_counters(const struct range_report *report);
/* Return the range in ns from the first slice. An open end is just after the
 * last event. */
uint64_t range_report_from(const struct range_report *report);
uint64_t range_report_to(const struct range_report *report);

#endif
