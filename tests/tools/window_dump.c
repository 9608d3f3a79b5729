/* SPDX-License-Identifier: Apache-2.0
 *
 * window_dump - what a trace has in a range of time, sorted, so that two ways
 * of reading it can be compared.
 *
 * usage: window_dump TRACE FROM TO	ns of CLOCK_BOOTTIME; 0 0: all
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/read/trace_read.h"
#include "collector/read/window.h"

static void show(struct trace_reader *trace, struct window_event *found)
{
	struct trace_event *event = &found->event;
	struct trace_location at =
		trace_reader_location(trace, event->location);
	struct trace_argument argument;

	printf("%016" PRIx64 " %" PRIu64 " %d %u%s%s %s|%s|%s:%u",
	       event->track ? event->track->uuid : 0, event->ns,
	       (int)event->kind, event->depth, found->before ? " before" : "",
	       found->after ? " after" : "",
	       trace_reader_text(trace, event->name),
	       trace_reader_text(trace, event->category),
	       trace_reader_text(trace, at.file), at.line);
	if (found->slice && event->kind == TRACE_END)
		printf(" %" PRIu64 " %" PRIu64 " %" PRIu64,
		       found->slice->begin_ns, found->slice->shown_ns,
		       found->slice->callee_ns);
	while (trace_argument_next(trace, event, &argument))
		printf(" %.*s=%.*s", (int)argument.name_bytes, argument.name,
		       (int)argument.text_bytes, argument.text);
	printf("%s\n", event->unfinished ? " unfinished" : "");
}

int main(int argc, char **argv)
{
	struct window_choice choice = { .calls_only = true };
	struct window_event event;
	struct window *window;
	int got;

	if (argc != 4) {
		fprintf(stderr, "usage: window_dump TRACE FROM TO\n");
		return 2;
	}
	choice.range.from_ns = strtoull(argv[2], NULL, 10);
	choice.range.to_ns = strtoull(argv[3], NULL, 10) ?: UINT64_MAX;
	got = window_open(argv[1], &choice, &window);
	while (!got && (got = window_next(window, &event)) > 0) {
		show(window_trace(window), &event);
		got = 0;
	}
	window_close(&window);
	return got < 0;
}
