/* SPDX-License-Identifier: Apache-2.0
 *
 * report_json - the rows of a view as JSON: values by the names of their types
 * in the profile; full and short names of functions.
 */
#ifndef PERFREC_COLLECTOR_SHOW_REPORT_JSON_H
#define PERFREC_COLLECTOR_SHOW_REPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "collector/show/pprof_rows.h"

#define REPORT_JSON_VERSION 1

struct report_json {
	const char *view;
	bool stacks; /* rows are stacks, not functions */
	size_t limit; /* rows; 0: all */
	/* The recording with memory over time; NULL: the view lacks it. */
	const char *dir;
};

/* Writes @rows of @pprof to @out as one JSON object. Bytes that are not UTF-8
 * become '?'. Returns 0, -ENOMEM, or -EIO if @out cannot be written. */
int report_json_write(const struct report_json *report,
		      const struct pprof *pprof, const struct pprof_rows *rows,
		      FILE *out);

#endif
