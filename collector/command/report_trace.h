/* SPDX-License-Identifier: Apache-2.0
 *
 * report_trace - the views of `perfrec report` that are made from the trace. For
 * a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_REPORT_TRACE_H
#define PERFREC_COLLECTOR_COMMAND_REPORT_TRACE_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/command/report_trace_options.h"

struct report_trace_view {
	const char *name; /* of --view */
	const char *const *keys; /* of --sort, NULL-terminated */
	const char *key_text; /* the same for a message */
	bool has_range; /* takes --from, --to and --thread */
	bool has_markdown;
	bool has_stacks; /* takes --stacks */
	bool has_function; /* takes FUNC before the recording */
	/* Reads the trace and prints the view to @out. Returns 0, -EIO if @out
	 * cannot be written, or another -errno after logging one line; -EBADMSG
	 * also if it has printed the rest of a damaged trace. */
	int (*print)(const struct report_trace_options *options, FILE *out);
};

/* Returns the view called @name, or NULL. */
const struct report_trace_view *report_trace_find(const char *name);
/* Returns true if @view can be sorted by @key. */
bool report_trace_has_key(const struct report_trace_view *view,
			  const char *key);

#endif
