/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/trace_bounds.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "collector/read/thread_choice.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_parts.h"
#include "collector/read/trace_read.h"
#include "shared/compiler.h"

/* The first reach, and the number of times that it grows by a factor of 16. */
#define FIRST_REACH_NS UINT64_C(1000000)
#define FIRST_REACHES 5

static int bound_all_events(struct trace_reader *reader,
			    struct trace_bounds *bounds)
{
	struct trace_event event;
	int err;

	while ((err = trace_reader_next(reader, &event)) > 0)
		if (event.kind == TRACE_BEGIN && track_has_calls(event.track) &&
		    (!bounds->first_ns || event.ns < bounds->first_ns))
			bounds->first_ns = event.ns;
	bounds->last_ns = trace_reader_totals(reader).last_ns;
	bounds->unsure = trace_reader_totals(reader).refused;
	return err == -EBADMSG ? 0 : err;
}

/* Reads from @from_ns to @to_ns. Sets *@tail if the trace is longer than the
 * index. */
static int bound_part(const char *path, const struct trace_index *index,
		      uint64_t from_ns, uint64_t to_ns,
		      struct trace_bounds *out, bool *tail)
{
	const struct time_range range = { from_ns, to_ns };
	const struct parts_choice choice = { .ranges = &range,
					     .range_count = 1,
					     .calls_only = true };
	struct trace_reader *reader;
	int err = trace_reader_open_parts(path, index, &choice, &reader);

	if (err)
		return err;
	*out = (struct trace_bounds){ 0 };
	err = bound_all_events(reader, out);
	*tail = trace_reader_totals(reader).size > index->trace_bytes;
	trace_reader_close(&reader);
	return err;
}

/*
 * Finds the first slice by @index: reads up to some time, and if nothing has
 * begun by then, up to a later time, and finally everything. A slice that
 * begins before the limit is the first.
 */
static int find_first(const char *path, const struct trace_index *index,
		      struct trace_bounds *out, bool *tail)
{
	uint64_t start_ns, last_ns;

	trace_index_times(index, &start_ns, &last_ns);
	for (int i = 0; i < FIRST_REACHES; i++) {
		uint64_t to_ns = start_ns + (FIRST_REACH_NS << (4 * i));
		int err = bound_part(path, index, 0, to_ns, out, tail);

		if (err || (out->first_ns && out->first_ns < to_ns))
			return err;
	}
	return bound_part(path, index, 0, UINT64_MAX, out, tail);
}

static int jump_bounds(const char *path, const struct trace_index *index,
		       struct trace_bounds *out)
{
	struct trace_bounds end = { 0 };
	bool tail = false;
	int err = find_first(path, index, out, &tail);

	/* The last event may lie behind the part that the index covers. */
	if (!err && tail)
		err = bound_part(path, index, out->last_ns, UINT64_MAX, &end,
				 &tail);
	out->last_ns = MAX(out->last_ns, end.last_ns);
	out->unsure |= end.unsure;
	return err;
}

/* Leaves *@out unchanged if the index is not reliable. */
static int bounds_by_index(const char *path, const struct trace_index *index,
			   struct trace_bounds *out)
{
	struct trace_index *own = NULL;
	struct trace_bounds bounds = { 0 };
	int err = 0;

	if (!index) {
		trace_index_read_beside(path, &own);
		index = own;
	}
	if (index)
		err = jump_bounds(path, index, &bounds);
	trace_index_free(&own);
	if (!err && bounds.first_ns && !bounds.unsure)
		*out = bounds;
	return err;
}

int trace_bounds_read(const char *path, const struct trace_index *index,
		      const struct read_progress *progress,
		      struct trace_bounds *out)
{
	struct trace_bounds bounds = { 0 };
	struct trace_reader *reader;
	int err = bounds_by_index(path, index, &bounds);

	if (!err && !bounds.first_ns) {
		err = trace_reader_open(path, &reader);
		if (err)
			return err;
		if (progress)
			trace_reader_set_progress(reader, progress);
		err = bound_all_events(reader, &bounds);
		trace_reader_close(&reader);
	}
	if (!err)
		*out = bounds;
	return err;
}
