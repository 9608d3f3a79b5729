/* SPDX-License-Identifier: Apache-2.0
 *
 * report_view - what `perfrec report --view` shows of a recording's profiles:
 * cpu.pb.gz, heap.pb.gz (with heap-peak.pb.gz), span.pb.gz and offcpu.pb.gz. It
 * is a table for a person, or JSON for another program.
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
	const char *dir; /* of the recording, as the user wrote it */
	const char *sort; /* a key of the view; NULL: the view's first key */
	size_t limit; /* how many rows; 0: all */
	bool stacks; /* rows are stacks, not functions */
	bool raw; /* times as they were measured */
	bool full_names; /* names of functions are neither short nor cut */
	bool json;
	bool markdown; /* only a title and the table */
};

/* The view called @name ("cpu", "heap", "span", "wait"), or NULL. It is
 * constant. */
const struct report_view *report_view_find(const char *name);
/* Whether @view has times that differ from what was measured. */
bool report_view_has_raw(const struct report_view *view);
/* Whether rows of @view can be sorted by @key. Sets *@keys to a constant text
 * for a person that names all keys of the view. */
bool report_view_has_key(const struct report_view *view, const char *key,
			 const char **keys);

/*
 * Read the profile of the view from the recording and print it to @out.
 * @summary is of the same recording. 0; -EIO: @out cannot be written; or
 * another -errno, and the log has one line about it.
 */
int report_view_print(const struct summary *summary,
		      const struct report_view_options *options, FILE *out);

#endif
