/* SPDX-License-Identifier: Apache-2.0
 *
 * report_io - `perfrec report --view io`: the files and sockets that a program
 * used, by the calls of the C library's functions in its trace
 * (record --calls-to).
 *
 * A descriptor is the file of the last open() before. The trace has no order
 * between threads, so it is read twice: first for the calls that make and close
 * descriptors, then for all calls.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_REPORT_IO_H
#define PERFREC_COLLECTOR_COMMAND_REPORT_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct report_io_options {
	const char *dir; /* of the recording, as given by the user */
	const char *sort; /* "total", "calls" or "name"; NULL: total */
	size_t limit; /* rows; 0: all */
	bool full_names; /* neither shorten nor cut names */
	bool json;
	bool markdown; /* only a table */
};

/* Returns true if the view can be sorted by @key. */
bool report_io_has_key(const char *key);
/* Reads the trace and prints the view to @out. Returns 0, -EIO if @out cannot be
 * written, or another -errno after logging one line; -EBADMSG also if it has
 * printed the rest of a damaged trace. */
int report_io_print(const struct report_io_options *options, FILE *out);

#endif
