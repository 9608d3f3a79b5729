/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/trace_bounds.h"

#include <stddef.h>

#include "collector/read/thread_choice.h"
#include "collector/read/trace_read.h"

static void take_begin(struct trace_bounds *bounds,
		       const struct trace_event *event)
{
	if (event->kind != TRACE_BEGIN || !track_has_calls(event->track))
		return;
	if (!bounds->first_ns || event->ns < bounds->first_ns)
		bounds->first_ns = event->ns;
}

int trace_bounds_read(const char *path, const struct read_progress *progress,
		      struct trace_bounds *out)
{
	struct trace_bounds bounds = { 0 };
	struct trace_reader *reader;
	struct trace_event event;
	int err = trace_reader_open(path, &reader);

	if (err)
		return err;
	if (progress)
		trace_reader_set_progress(reader, progress);
	while (trace_reader_next(reader, &event) > 0)
		take_begin(&bounds, &event);
	bounds.last_ns = trace_reader_totals(reader).last_ns;
	trace_reader_close(&reader);
	*out = bounds;
	return 0;
}
