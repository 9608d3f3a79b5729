/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/request_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/read/thread_choice.h"

#define KEY "trace_id"

/* An open slice with a trace id of its own. */
struct own_request {
	const struct trace_track *track;
	uint32_t depth;
	bool wanted;
};

struct request_thread {
	bool wanted; /* its last instant set the wanted request */
	struct own_request *own; /* the last is the innermost */
	size_t count, room;
};

enum found { FOUND_NONE, FOUND_OTHER, FOUND_WANTED };

void request_choice_release(struct request_choice *choice)
{
	for (uint32_t i = 0; i < choice->room; i++)
		free(choice->threads[i].own);
	free(choice->threads);
	choice->threads = NULL;
	choice->room = 0;
}

static bool is_zero(const char *id)
{
	for (size_t i = 0; i < REQUEST_ID_DIGITS; i++)
		if (id[i] != '0')
			return false;
	return true;
}

static enum found find_id(const struct request_choice *choice,
			  const struct trace_reader *reader,
			  const struct trace_event *event)
{
	struct trace_event copy = *event;
	struct trace_argument one;

	if (!event->fields.at)
		return FOUND_NONE;
	while (trace_argument_next(reader, &copy, &one)) {
		if (one.kind != TRACE_ARGUMENT_TEXT ||
		    !trace_argument_is(&one, KEY) ||
		    one.text_bytes != REQUEST_ID_DIGITS || is_zero(one.text))
			continue;
		return memcmp(one.text, choice->wanted, REQUEST_ID_DIGITS)
			       ? FOUND_OTHER
			       : FOUND_WANTED;
	}
	return FOUND_NONE;
}

static int push_own(struct request_thread *thread,
		    const struct trace_event *event, bool wanted)
{
	if (grow_array(thread->own, thread->room, thread->count + 1))
		return -ENOMEM;
	thread->own[thread->count++] = (struct own_request){
		.track = event->track,
		.depth = event->depth,
		.wanted = wanted,
	};
	return 0;
}

/* Slices of several contexts of a thread may end in any order. */
static void end_own(struct request_thread *thread,
		    const struct trace_event *event)
{
	size_t i = thread->count;

	while (i && (thread->own[i - 1].track != event->track ||
		     thread->own[i - 1].depth != event->depth))
		i--;
	if (!i)
		return;
	thread->count--;
	memmove(&thread->own[i - 1], &thread->own[i],
		(thread->count - (i - 1)) * sizeof(*thread->own));
}

/* Instants of the collector have neither category nor location. */
static void take_instant(const struct request_choice *choice,
			 struct request_thread *thread,
			 const struct trace_reader *reader,
			 const struct trace_event *event)
{
	const char *name = trace_reader_text(reader, event->name);

	if (event->category || event->location)
		return;
	if (!strcmp(name, "request"))
		thread->wanted = find_id(choice, reader, event) == FOUND_WANTED;
	else if (!strcmp(name, "no request"))
		thread->wanted = false;
}

int request_choice_take(struct request_choice *choice,
			const struct trace_reader *reader,
			const struct trace_event *event)
{
	uint32_t number = call_track_thread(reader, event->track)->number;
	struct request_thread *thread;
	enum found found;
	int err = 0;

	if (grow_array_zeroed(choice->threads, choice->room,
			      (size_t)number + 1))
		return -ENOMEM;
	thread = &choice->threads[number];
	if (event->kind == TRACE_INSTANT)
		take_instant(choice, thread, reader, event);
	if (event->kind == TRACE_END)
		end_own(thread, event);
	if (event->kind == TRACE_BEGIN) {
		found = find_id(choice, reader, event);
		if (found != FOUND_NONE)
			err = push_own(thread, event, found == FOUND_WANTED);
	}
	choice->met |= request_choice_has(choice, reader, event->track);
	return err;
}

bool request_choice_has(const struct request_choice *choice,
			const struct trace_reader *reader,
			const struct trace_track *track)
{
	uint32_t number = call_track_thread(reader, track)->number;
	const struct request_thread *thread;

	if (number >= choice->room)
		return false;
	thread = &choice->threads[number];
	return thread->count ? thread->own[thread->count - 1].wanted
			     : thread->wanted;
}
