/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/request_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/read/thread_choice.h"

/* An open slice with a trace id of its own. */
struct own_request {
	const struct trace_track *track;
	uint32_t depth;
	struct request_ids ids;
};

struct request_thread {
	struct request_ids said; /* by its last instant */
	struct own_request *own; /* the last is the innermost */
	size_t count, room;
};

void request_choice_release(struct request_choice *choice)
{
	for (uint32_t i = 0; i < choice->room; i++)
		free(choice->threads[i].own);
	free(choice->threads);
	choice->threads = NULL;
	choice->room = 0;
}

static void take_id(char *out, size_t room, const char *text, size_t bytes)
{
	if (bytes != room - 1)
		return;
	memcpy(out, text, bytes);
	out[bytes] = '\0';
	if (strspn(out, "0") == bytes)
		out[0] = '\0';
}

void request_ids_take(struct request_ids *ids, const char *key,
		      size_t key_bytes, const char *text, size_t bytes)
{
	if (key_bytes == 8 && !memcmp(key, "trace_id", 8))
		take_id(ids->trace, sizeof(ids->trace), text, bytes);
	else if (key_bytes == 7 && !memcmp(key, "span_id", 7))
		take_id(ids->span, sizeof(ids->span), text, bytes);
}

/* Slices of several contexts of a thread may end in any order. */
static void end_own(struct request_thread *thread,
		    const struct trace_track *track, uint32_t depth)
{
	size_t i = thread->count;

	while (i && (thread->own[i - 1].track != track ||
		     thread->own[i - 1].depth != depth))
		i--;
	if (!i)
		return;
	thread->count--;
	memmove(&thread->own[i - 1], &thread->own[i],
		(thread->count - (i - 1)) * sizeof(*thread->own));
}

/* Instants of the collector have neither category nor location. */
bool request_choice_sets(const struct trace_reader *reader,
			 const struct trace_event *event)
{
	const char *name;

	if (event->kind != TRACE_INSTANT || event->category || event->location)
		return false;
	name = trace_reader_text(reader, event->name);
	return !strcmp(name, "request") || !strcmp(name, "no request");
}

int request_choice_follow(struct request_choice *choice,
			  const struct trace_reader *reader,
			  const struct trace_track *track, uint32_t depth,
			  enum trace_event_kind kind,
			  const struct request_ids *ids)
{
	struct request_thread *thread =
		grow_array_at(choice->threads, choice->room,
			      call_track_thread(reader, track)->number);

	if (!thread)
		return -ENOMEM;
	if (kind == TRACE_INSTANT)
		thread->said = *ids;
	if (kind == TRACE_END)
		end_own(thread, track, depth);
	if (kind == TRACE_BEGIN && ids->trace[0]) {
		if (grow_array(thread->own, thread->room, thread->count + 1))
			return -ENOMEM;
		thread->own[thread->count++] = (struct own_request){
			.track = track,
			.depth = depth,
			.ids = *ids,
		};
	}
	choice->met |= request_choice_has(choice, reader, track);
	return 0;
}

int request_choice_take(struct request_choice *choice,
			const struct trace_reader *reader,
			const struct trace_event *event)
{
	struct trace_event copy = *event;
	struct trace_argument one;
	struct request_ids ids = { 0 };
	bool sets = request_choice_sets(reader, event);

	if (event->fields.at && (sets || event->kind == TRACE_BEGIN))
		while (trace_argument_next(reader, &copy, &one))
			if (one.kind == TRACE_ARGUMENT_TEXT)
				request_ids_take(&ids, one.name, one.name_bytes,
						 one.text, one.text_bytes);
	if (!sets && event->kind != TRACE_BEGIN && event->kind != TRACE_END)
		return 0;
	return request_choice_follow(choice, reader, event->track, event->depth,
				     event->kind, &ids);
}

const struct request_ids *request_choice_ids(
	const struct request_choice *choice, const struct trace_reader *reader,
	const struct trace_track *track)
{
	static const struct request_ids none = { 0 };
	uint32_t number = call_track_thread(reader, track)->number;
	const struct request_thread *thread;

	if (number >= choice->room)
		return &none;
	thread = &choice->threads[number];
	return thread->count ? &thread->own[thread->count - 1].ids
			     : &thread->said;
}

bool request_choice_has(const struct request_choice *choice,
			const struct trace_reader *reader,
			const struct trace_track *track)
{
	return choice->wanted &&
	       !strcmp(request_choice_ids(choice, reader, track)->trace,
		       choice->wanted);
}
