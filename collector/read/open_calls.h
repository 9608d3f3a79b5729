/* SPDX-License-Identifier: Apache-2.0
 *
 * open_calls - a value for each open call of one thread, while a trace is read, such
 * as its name. All zero: no call. The owner frees open_calls.values. One thread at
 * a time.
 */
#ifndef PERFREC_COLLECTOR_READ_OPEN_CALLS_H
#define PERFREC_COLLECTOR_READ_OPEN_CALLS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/base/grow.h"
#include "collector/read/trace_read.h"

struct open_calls {
	uint32_t *values; /* outermost first */
	uint32_t room, depth;
};

/* Returns true if @event begins or ends a call on the stack of a thread. */
static inline bool open_calls_change(const struct trace_event *event)
{
	return event->track && event->track->kind == TRACE_TRACK_THREAD &&
	       (event->kind == TRACE_BEGIN || event->kind == TRACE_END);
}

/* Returns the value of the innermost call; 0: there is none. */
static inline uint32_t open_calls_innermost(const struct open_calls *calls)
{
	return calls->depth ? calls->values[calls->depth - 1] : 0;
}

/* Ends a call, or begins one with @value, as @event says. Returns 0 or
 * -ENOMEM. */
static inline int open_calls_take(struct open_calls *calls,
				  const struct trace_event *event,
				  uint32_t value)
{
	/* A damaged trace may have opened calls before the track was a
	 * thread. */
	if (grow_array_zeroed(calls->values, calls->room,
			      (size_t)event->depth + 1))
		return -ENOMEM;
	calls->depth = event->depth;
	if (event->kind == TRACE_BEGIN)
		calls->values[calls->depth++] = value;
	return 0;
}

#endif
