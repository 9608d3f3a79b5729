/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/thread_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct trace_track *call_track_thread(const struct trace_reader *reader,
					    const struct trace_track *track)
{
	struct trace_track *parent;

	if (track->kind != TRACE_TRACK_CONTEXT &&
	    track->kind != TRACE_TRACK_WAITS)
		return track;
	parent = trace_reader_find_track(reader, track->parent);
	return parent ? parent : track;
}

uint32_t call_track_context(const struct trace_reader *reader,
			    const struct trace_track *context)
{
	unsigned int number = 0;

	return sscanf(trace_reader_text(reader, context->name), "context %9u",
		      &number) == 1
		       ? number
		       : context->number;
}

static bool is_called(const struct trace_reader *reader,
		      const struct trace_track *thread, const char *wanted)
{
	char tid[24];

	snprintf(tid, sizeof(tid), "%" PRId64, thread->tid);
	return strcmp(wanted, tid) == 0 ||
	       strcmp(wanted, trace_reader_text(reader, thread->name)) == 0;
}

bool thread_choice_has(struct thread_choice *choice,
		       const struct trace_reader *reader, const char *wanted,
		       const struct trace_track *track, bool open)
{
	const struct trace_track *thread = call_track_thread(reader, track);

	if (choice->looked_at && (open || choice->name == thread->name))
		return choice->chosen;
	choice->looked_at = true;
	choice->name = thread->name;
	choice->chosen = is_called(reader, thread, wanted);
	return choice->chosen;
}

bool thread_choice_exists(const struct trace_reader *reader, const char *wanted)
{
	const struct trace_track *track;

	for (uint32_t i = 0; (track = trace_reader_track(reader, i)) != NULL;
	     i++)
		if (track->kind == TRACE_TRACK_THREAD &&
		    is_called(reader, track, wanted))
			return true;
	return false;
}
