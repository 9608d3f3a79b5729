/* SPDX-License-Identifier: Apache-2.0
 *
 * report_view - `perfrec report --view`: cpu.pb.gz, heap.pb.gz (with
 * heap-peak.pb.gz), span.pb.gz and offcpu.pb.gz as a table or as JSON.
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
	const char *dir; /* of the recording, as given by the user */
	const char *sort; /* NULL: the view's first key */
	size_t limit; /* rows; 0: all */
	bool stacks; /* rows are stacks, not functions */
	bool raw; /* times as measured */
	bool full_names; /* neither shorten nor cut names */
	bool json;
	bool markdown; /* only a title and the table */
};

/* Returns the static view @name ("cpu", "heap", "span", "wait"), or NULL. */
const struct report_view *report_view_find(const char *name);
/* Returns true if @view has times that differ from measured ones. */
bool report_view_has_raw(const struct report_view *view);
/* Returns true if @view can be sorted by @key. Sets *@keys to a static text
 * that lists all keys. */
bool report_view_has_key(const struct report_view *view, const char *key,
			 const char **keys);

/* Reads the profile of the view and prints it to @out. @summary is of the same
 * recording. Returns 0, -EIO if @out cannot be written, or another -errno after
 * logging one line. */
int report_view_print(const struct summary *summary,
		      const struct report_view_options *options, FILE *out);

#endif
