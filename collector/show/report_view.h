/* SPDX-License-Identifier: Apache-2.0
 *
 * report_view - what `perfrec report --view` shows of a recording's profiles:
 * cpu.pb.gz, heap.pb.gz (with heap-peak.pb.gz) and span.pb.gz, as a table for
 * a person or as JSON.
 */
#ifndef PERFREC_COLLECTOR_SHOW_REPORT_VIEW_H
#define PERFREC_COLLECTOR_SHOW_REPORT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct report_view;
struct summary;

struct report_view_options {
	const struct report_view *view;
	const char *dir; /* of the recording, as the user knows it */
	const char *sort; /* a key of the view; NULL: its first */
	size_t limit; /* rows; 0: all */
	bool stacks; /* rows are stacks, not functions */
	bool json;
};

/* By the name that --view takes ("cpu", "heap", "span"), or NULL. */
const struct report_view *report_view_find(const char *name);
/* Whether --sort takes @key; else *@keys is a text that names those it does. */
bool report_view_has_key(const struct report_view *view, const char *key,
			 const char **keys);

/*
 * Print it. @summary is of the same recording. 0, -EIO if it cannot be
 * written, or another -errno after one line in the log.
 */
int report_view_print(const struct summary *summary,
		      const struct report_view_options *options, FILE *out);

#endif
