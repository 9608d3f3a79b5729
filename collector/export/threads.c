/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/export/threads.h"

#include <inttypes.h>
#include <stdio.h>

#include "collector/show/call_read.h"

/* Thread numbers in Linux are at most 2^22. */
#define TID_OTHER (INT64_C(1) << 30)
#define PARENTS_MAX 8

struct threads_process threads_process(const struct trace_reader *trace,
				       const struct trace_track *track)
{
	for (int i = 0; track && i < PARENTS_MAX; i++) {
		if (track->process)
			track = track->process;
		if (track->kind == TRACE_TRACK_PROCESS)
			return (struct threads_process){ track->pid,
							 track->name };
		if (track->pid)
			return (struct threads_process){ .pid = track->pid };
		track = track->parent
				? trace_reader_find_track(trace, track->parent)
				: NULL;
	}
	return (struct threads_process){ 0 };
}

int64_t threads_tid(const struct trace_track *track)
{
	return track->kind == TRACE_TRACK_THREAD && track->tid
		       ? track->tid
		       : TID_OTHER + track->number;
}

const char *threads_name(const struct trace_reader *trace,
			 const struct trace_track *track,
			 char text[THREAD_NAME_BYTES])
{
	const struct trace_track *thread = call_track_thread(trace, track);
	const char *name = trace_reader_text(trace, thread->name);

	if (track->kind == TRACE_TRACK_WAITS)
		snprintf(text, THREAD_NAME_BYTES, "%.200s (%" PRId64 "), waits",
			 name, thread->tid);
	else if (thread != track)
		snprintf(text, THREAD_NAME_BYTES,
			 "%.200s (%" PRId64 ", context %u)", name, thread->tid,
			 call_track_context(trace, track));
	else if (track->kind == TRACE_TRACK_THREAD)
		snprintf(text, THREAD_NAME_BYTES, "%.200s (%" PRId64 ")", name,
			 thread->tid);
	else
		snprintf(text, THREAD_NAME_BYTES, "%.200s",
			 name[0] ? name : "track");
	return text;
}
