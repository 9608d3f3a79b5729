/* SPDX-License-Identifier: Apache-2.0
 *
 * range_report - what functions did in a range of a recording, or what one
 * thread did, for a person and as JSON: calls, self and total time, and the
 * longest call. It is made from the trace alone.
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
	const char *dir; /* of the recording, as the user wrote it */
	const struct trace_sums *sums; /* of the range and the thread */
	const struct curves *curves; /* of the range in one bucket; NULL: none
				      */
	struct trace_bounds bounds; /* of the recording */
	struct time_range range; /* CLOCK_BOOTTIME */
	const char *thread; /* as the user chose it; NULL: all */
	enum range_order order; /* of the rows */
	size_t limit; /* rows; 0: all */
	bool full_names; /* names of functions are neither short nor cut */
};

struct range_row {
	const struct sums_function *function;
	const char *name;
	uint64_t key; /* by which rows are sorted, the largest first */
};

/* Sets *@order to what @key ("self") is. False: it is no key; then *@keys is a
 * constant text for a person that names all. */
bool range_report_find_order(const char *key, enum range_order *order,
			     const char **keys);

/* Prints @report to @out, fit for it if it is a terminal. 0; -EIO: @out cannot
 * be written; or -ENOMEM. */
int range_report_print(const struct range_report *report, FILE *out);
/* The same as Markdown: a title, the facts, and the table. */
int range_report_print_markdown(const struct range_report *report, FILE *out);
/* The same as one JSON object. */
int range_report_write_json(const struct range_report *report, FILE *out);

/* The rows of @report, sorted, as many as there are functions. NULL: no memory.
 * The caller frees them. */
struct range_row *range_report_rows(const struct range_report *report);
/* How many of them are shown. */
size_t range_report_shown(const struct range_report *report);
/* What is shown of its counters. */
struct range_counters range_report_counters(const struct range_report *report);
/* The range in ns from the first slice; of the open end of a recording: just
 * behind its last event. */
uint64_t range_report_from(const struct range_report *report);
uint64_t range_report_to(const struct range_report *report);

#endif
