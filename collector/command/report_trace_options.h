/* SPDX-License-Identifier: Apache-2.0
 *
 * report_trace_options - what the views of `perfrec report` that are made from
 * the trace take.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_REPORT_TRACE_OPTIONS_H
#define PERFREC_COLLECTOR_COMMAND_REPORT_TRACE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct range_command;

struct report_trace_options {
	const char *dir; /* of the recording, as given by the user */
	const char *sort; /* a key of the view; NULL: its first */
	size_t limit; /* rows; 0: all */
	bool full_names; /* neither shorten nor cut names */
	bool json;
	bool markdown; /* only a table */
	bool stacks; /* of has_stacks: read the calls around waits */
	const struct range_command *range;
	const char *thread; /* NULL: all */
	const char *function; /* of has_function; NULL: none */
};

#endif
