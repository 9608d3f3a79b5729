/* SPDX-License-Identifier: Apache-2.0
 *
 * call_text - formats a call as in C, "f(a=1)", as a part of a line. Texts come
 * from a recorded program, so control characters become '?'. One thread at a
 * time.
 */
#ifndef PERFREC_COLLECTOR_SHOW_CALL_TEXT_H
#define PERFREC_COLLECTOR_SHOW_CALL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/read/call_arguments.h"
#include "collector/read/trace_read.h"

#define CALL_TEXT_BYTES 16384 /* of a call with its arguments */
#define CALL_THREAD_BYTES 24

/* A growing line. It is truncated at CALL_TEXT_BYTES, with room for a NUL at
 * text[used]. Empty if used is 0. */
struct call_text {
	size_t used;
	char text[CALL_TEXT_BYTES];
};

/* Appends @count bytes unchanged. */
void call_text_put(struct call_text *line, const char *text, size_t count);
void call_text_add(struct call_text *line, const char *text);
/* Appends "a=1, b="x"". @arguments may be NULL. */
void call_text_arguments(struct call_text *line,
			 const struct call_arguments *arguments);
/* Appends @before and the text of the argument @name. Returns false and appends
 * nothing if there is none, or if it is "unknown". @arguments may be NULL. */
bool call_text_value(struct call_text *line, const char *before,
		     const struct call_arguments *arguments, const char *name);
/* Appends "f(a=1)". @name is a displayed name; in C++ and Rust it already has
 * parameters. */
void call_text_call(struct call_text *line, const char *name,
		    const struct call_arguments *arguments);

/* Writes the number of @track's thread: "5469", or "5469/7" for a context with
 * track number 7, or "-" without a thread. */
void call_thread_label(const struct trace_reader *trace,
		       const struct trace_track *track,
		       char text[CALL_THREAD_BYTES]);

#endif
