/* SPDX-License-Identifier: Apache-2.0
 *
 * report_json - the rows of a view for another program: values by the names
 * that their types have in the profile, and names of functions in full and
 * short.
 */
#ifndef PERFREC_COLLECTOR_SHOW_REPORT_JSON_H
#define PERFREC_COLLECTOR_SHOW_REPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "collector/show/pprof_rows.h"

#define REPORT_JSON_VERSION 1

struct report_json {
	const char *view; /* name of the view */
	bool stacks; /* rows are stacks, not functions */
	size_t limit; /* rows that are written; 0: all */
};

/* Write @rows, which are rows of @pprof, to @out as one JSON object. Bytes that
 * are no UTF-8 become '?'. 0, -ENOMEM, or -EIO if @out cannot be written. */
int report_json_write(const struct report_json *report,
		      const struct pprof *pprof, const struct pprof_rows *rows,
		      FILE *out);

#endif
