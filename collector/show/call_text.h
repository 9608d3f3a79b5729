/* SPDX-License-Identifier: Apache-2.0
 *
 * call_text - a call as it looks in C, "f(a=1)", as a part of a line for a
 * person. All texts may come from a recorded program: what a terminal could
 * take for a command becomes '?'. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_SHOW_CALL_TEXT_H
#define PERFREC_COLLECTOR_SHOW_CALL_TEXT_H

#include <stddef.h>

#include "collector/read/call_arguments.h"
#include "collector/read/trace_read.h"

#define CALL_TEXT_BYTES 16384 /* of a call with its arguments */
#define CALL_THREAD_BYTES 24

/* A line that grows. What finds no room is cut off. used 0: it is empty. There
 * is room for a NUL at text[used]. */
struct call_text {
	size_t used;
	char text[CALL_TEXT_BYTES];
};

/* Appends @count bytes as they are. */
void call_text_put(struct call_text *line, const char *text, size_t count);
/* The same for a text. */
void call_text_add(struct call_text *line, const char *text);
/* Appends "a=1, b="x"". @arguments may be NULL. */
void call_text_arguments(struct call_text *line,
			 const struct call_arguments *arguments);
/* Appends "f(a=1)". @name is as it is shown: one of C++ or Rust has its
 * parameters already. */
void call_text_call(struct call_text *line, const char *name,
		    const struct call_arguments *arguments);

/* Writes the number of the thread of @track into @text, "5469", or "5469/7" of
 * a context, whose track has number 7; "-": it is of no thread. */
void call_thread_label(const struct trace_reader *trace,
		       const struct trace_track *track,
		       char text[CALL_THREAD_BYTES]);

#endif
