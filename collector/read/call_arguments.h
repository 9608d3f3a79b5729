/* SPDX-License-Identifier: Apache-2.0
 *
 * call_arguments - keeps copies of the arguments of a trace event beyond the
 * event. Any thread.
 */
#ifndef PERFREC_COLLECTOR_READ_CALL_ARGUMENTS_H
#define PERFREC_COLLECTOR_READ_CALL_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/read/trace_read.h"

struct argument_conditions;

struct call_arguments {
	size_t bytes; /* of at */
	char at[];
};

/* Appends @argument to @kept, which may be NULL. Returns the new list, which
 * replaces @kept; the caller frees it with free(3). Returns @kept unchanged
 * without memory. */
struct call_arguments *call_arguments_add(
	struct call_arguments *kept, const struct trace_argument *argument);
/* Returns a copy of the arguments of @event, the latest event of @reader.
 * Returns NULL if it has none, or without memory. The caller frees it with
 * free(3). */
struct call_arguments *call_arguments_of(const struct trace_reader *reader,
					 const struct trace_event *event);
/* Appends the result of a call ("ret", "ret cut") from @event, its end and the
 * latest event of @reader, as call_arguments_add(). */
struct call_arguments *call_arguments_add_result(
	struct call_arguments *kept, const struct trace_reader *reader,
	const struct trace_event *event);
/* Returns the conditions, as a mask by their places in @conditions, that an
 * argument of @event, the latest event of @reader, fulfils. NULL: none. Sets
 * the bits of all conditions whose argument @event has in *@named. */
uint32_t call_arguments_match(const struct trace_reader *reader,
			      const struct trace_event *event,
			      const struct argument_conditions *conditions,
			      uint32_t *named);
/* Reads the argument at *@at of @kept, which may be NULL, and advances *@at,
 * which starts at 0. Returns false at the end. */
bool call_arguments_next(const struct call_arguments *kept, size_t *at,
			 struct trace_argument *out);

#endif
