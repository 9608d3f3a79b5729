/* SPDX-License-Identifier: Apache-2.0
 *
 * call_arguments - the arguments of an event of a trace, kept for longer than
 * the event. Any thread.
 */
#ifndef PERFREC_COLLECTOR_READ_CALL_ARGUMENTS_H
#define PERFREC_COLLECTOR_READ_CALL_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/read/trace_read.h"

/* The arguments of a call, kept. */
struct call_arguments {
	size_t bytes; /* of at */
	char at[];
};

/* Appends @argument to @kept, which may be NULL. Returns what takes its place,
 * which the caller frees with free(3). Without memory @kept stays as it is. */
struct call_arguments *call_arguments_add(
	struct call_arguments *kept, const struct trace_argument *argument);
/* A copy of the arguments of @event, which @reader has given last. NULL: it has
 * none, or there is no memory. The caller frees it with free(3). */
struct call_arguments *call_arguments_of(const struct trace_reader *reader,
					 const struct trace_event *event);
/* Takes the argument at *@at off @kept, which may be NULL; the first is at 0.
 * False: there are no more. */
bool call_arguments_next(const struct call_arguments *kept, size_t *at,
			 struct trace_argument *out);

#endif
