/* SPDX-License-Identifier: Apache-2.0
 *
 * window - each track has its open slices, as in the reader below. Nothing is
 * returned until the first event at or after FROM, which is held until the open
 * slices are returned. The first slice event at or after TO ends the track: its
 * open slices are ended, and later events are dropped.
 *
 * Counters, states and samples of a thread may not be in the order of its
 * slices: each is selected by its own time.
 */
#include "collector/read/window.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/read/thread_choice.h"
#include "collector/read/trace_index.h"
#include "shared/compiler.h"

enum window_phase {
	PHASE_BEFORE, /* before FROM */
	PHASE_INSIDE,
	PHASE_OVER,
};

struct window_track {
	enum window_phase phase;
	struct window_slice *slices; /* open, outermost first */
	uint32_t count, room;
	struct trace_event *last; /* the last counter value or state before
				   * FROM */
	struct thread_choice choice;
};

struct window {
	struct trace_reader *trace;
	const struct trace_index *index; /* NULL: the whole trace is read */
	struct trace_index *own_index; /* the index, if this module read it */
	struct window_choice choice;
	struct window_track *tracks;
	uint32_t track_room;
	struct window_slice ended; /* of the latest end event */
	/* An event that waits until the slices around it are returned. */
	struct trace_event held;
	bool has_held;
	uint32_t given; /* number of these slices already returned */
	uint32_t at_end; /* at the end: the next track */
	bool ending, met_thread;
	int err;
};

int window_open(const char *path, const struct window_choice *choice,
		struct window **out)
{
	struct window *window = calloc(1, sizeof(*window));
	struct parts_choice parts = { .range_count = 1,
				      .calls_only = true,
				      .skips = choice->skips };
	int err;

	if (!window)
		return -ENOMEM;
	window->choice = *choice;
	parts.ranges = &window->choice.range;
	/* Values in front of the range may be in skipped parts. */
	window->index = choice->calls_only ? choice->index : NULL;
	if (choice->calls_only && !choice->index) {
		trace_index_read_beside(path, &window->own_index);
		window->index = window->own_index;
	}
	err = trace_reader_open_parts(path, window->index, &parts,
				      &window->trace);
	if (err) {
		trace_index_free(&window->own_index);
		free(window);
		return err;
	}
	window->met_thread = !choice->thread;
	*out = window;
	return 0;
}

void window_close(struct window **window_ptr)
{
	struct window *window = *window_ptr;

	*window_ptr = NULL;
	if (!window)
		return;
	for (uint32_t i = 0; i < window->track_room; i++) {
		struct window_track *track = &window->tracks[i];

		for (uint32_t j = 0; j < track->count; j++)
			free(track->slices[j].arguments);
		free(track->slices);
		free(track->last);
	}
	free(window->tracks);
	free(window->ended.arguments);
	trace_reader_close(&window->trace);
	trace_index_free(&window->own_index);
	free(window);
}

struct trace_reader *window_trace(const struct window *window)
{
	return window->trace;
}

bool window_met_thread(const struct window *window)
{
	/* With the index, events of the thread may have been skipped. */
	return window->met_thread ||
	       thread_choice_exists(window->trace, window->choice.thread);
}

/* --- tracks --- */

static struct window_track *track_of(struct window *window,
				     const struct trace_track *shown)
{
	if (unlikely(shown->number >= window->track_room) &&
	    grow_array_zeroed(window->tracks, window->track_room,
			      (size_t)shown->number + 1))
		return NULL;
	return &window->tracks[shown->number];
}

static bool is_chosen(struct window *window, struct window_track *track,
		      const struct trace_track *shown)
{
	const char *wanted = window->choice.thread;

	if (window->choice.calls_only && !track_has_calls(shown))
		return false;
	if (!wanted)
		return true;
	if (!thread_choice_has(&track->choice, window->trace, wanted, shown,
			       track->count))
		return false;
	window->met_thread = true;
	return true;
}

const struct trace_index *window_index(const struct window *window)
{
	return window->index;
}

bool window_gives_track(struct window *window, const struct trace_track *shown)
{
	struct window_track *track = track_of(window, shown);

	/* Calls of this track will be missing. */
	if (!track && !window->err)
		window->err = -ENOMEM;
	return track && is_chosen(window, track, shown);
}

static bool is_in_range(const struct window *window, uint64_t ns)
{
	return ns >= window->choice.range.from_ns &&
	       ns < window->choice.range.to_ns;
}

/* --- slices --- */

static struct window_slice *push_slice(struct window *window,
				       struct window_track *track,
				       const struct trace_event *event)
{
	struct window_slice *slice;

	if (grow_array(track->slices, track->room, track->count + 1))
		return NULL;
	slice = &track->slices[track->count++];
	*slice = (struct window_slice){
		.begin_ns = event->ns,
		.shown_ns = MAX(MAX(event->ns, window->choice.range.from_ns),
				event->track->from_ns),
		.name = event->name,
		.category = event->category,
		.location = event->location,
	};
	return slice;
}

static void give_end(struct window *window, struct window_track *track,
		     bool after, struct window_event *out)
{
	uint64_t took;

	free(window->ended.arguments);
	window->ended = track->slices[--track->count];
	out->slice = &window->ended;
	out->after = after;
	out->event.ns = MAX(out->event.ns, window->ended.shown_ns);
	out->event.slice = NULL;
	out->event.depth = track->count;
	took = out->event.ns - window->ended.shown_ns;
	if (track->count)
		track->slices[track->count - 1].callee_ns += took;
}

static void give_open(struct window_track *track, uint32_t number,
		      struct trace_track *shown, struct window_event *out)
{
	struct window_slice *slice = &track->slices[number];

	*out = (struct window_event){
		.event = { .kind = TRACE_BEGIN,
			   .ns = slice->begin_ns,
			   .track = shown,
			   .depth = number,
			   .name = slice->name,
			   .category = slice->category,
			   .location = slice->location },
		.before = true,
		.slice = slice,
	};
}

static void give_cut(struct window *window, struct window_track *track,
		     struct trace_track *shown, struct window_event *out)
{
	const struct window_slice *slice = &track->slices[track->count - 1];

	*out = (struct window_event){
		.event = { .kind = TRACE_END,
			   .ns = window->choice.range.to_ns,
			   .track = shown,
			   .name = slice->name,
			   .category = slice->category,
			   .location = slice->location },
	};
	give_end(window, track, true, out);
}

/* --- events --- */

static int take_before(struct window *window, struct window_track *track,
		       const struct trace_event *event)
{
	struct window_slice *slice;

	if (event->kind == TRACE_END && track->count)
		free(track->slices[--track->count].arguments);
	if (event->kind != TRACE_BEGIN)
		return 0;
	slice = push_slice(window, track, event);
	if (!slice)
		return -ENOMEM;
	if (event->fields.at)
		slice->arguments = call_arguments_of(window->trace, event);
	return 0;
}

/* Returns a slice event or an instant of the range: 1; 0: it is dropped; or
 * -ENOMEM. */
static int give_inside(struct window *window, struct window_track *track,
		       struct window_event *out)
{
	if (out->event.kind == TRACE_END) {
		if (!track->count)
			return 0;
		give_end(window, track, false, out);
		return 1;
	}
	if (out->event.kind != TRACE_BEGIN)
		return is_in_range(window, out->event.ns);
	out->slice = push_slice(window, track, &out->event);
	out->event.slice = NULL;
	return out->slice ? 1 : -ENOMEM;
}

/* Returns the open slices around the held event first, then the event. */
static int give_held(struct window *window, struct window_event *out)
{
	const struct trace_event *event = &window->held;
	struct window_track *track = &window->tracks[event->track->number];

	if (window->given < track->count && track->phase == PHASE_BEFORE) {
		give_open(track, window->given++, event->track, out);
		return 1;
	}
	track->phase = PHASE_INSIDE;
	if (event->ns < window->choice.range.to_ns) {
		window->has_held = false;
		*out = (struct window_event){ .event = *event };
		return give_inside(window, track, out);
	}
	if (track->count) {
		give_cut(window, track, event->track, out);
		return 1;
	}
	track->phase = PHASE_OVER;
	window->has_held = false;
	return 0;
}

/* Keeps the last counter value or state before FROM. */
static int take_value(struct window *window, struct window_track *track,
		      const struct trace_event *event)
{
	if (event->ns >= window->choice.range.from_ns)
		return is_in_range(window, event->ns);
	if (!track->last)
		track->last = malloc(sizeof(*track->last));
	if (!track->last)
		return -ENOMEM;
	*track->last = *event;
	track->last->fields = (struct wire){ 0 };
	track->last->argument_names = NULL;
	return 0;
}

/* An event without a track, or not in the order of its slices. Returns 1, 0 or
 * -ENOMEM. */
static int take_other(struct window *window, struct window_track *track,
		      const struct trace_event *event)
{
	if (track && event->kind != TRACE_SAMPLE)
		return take_value(window, track, event);
	return !window->choice.calls_only && is_in_range(window, event->ns);
}

static int take_slice(struct window *window, struct window_track *track,
		      struct window_event *out)
{
	uint64_t ns = out->event.ns;
	bool before = ns < window->choice.range.from_ns;

	if (likely(track->phase == PHASE_INSIDE &&
		   ns < window->choice.range.to_ns))
		return give_inside(window, track, out);
	if (track->phase == PHASE_OVER)
		return 0;
	if (track->phase == PHASE_BEFORE && before)
		return take_before(window, track, &out->event);
	window->held = out->event;
	window->has_held = true;
	window->given = 0;
	return 0;
}

/* Returns 1 if *@out is an event of the window; 0 if not; or -ENOMEM. */
static int take(struct window *window, struct window_event *out)
{
	const struct trace_event *event = &out->event;
	struct window_track *track = NULL;

	out->before = out->after = false;
	out->slice = NULL;
	if (!event->track)
		return !window->choice.thread &&
		       take_other(window, NULL, event);
	track = track_of(window, event->track);
	if (!track)
		return -ENOMEM;
	if (!is_chosen(window, track, event->track))
		return 0;
	if (unlikely(event->kind == TRACE_SAMPLE ||
		     event->kind == TRACE_COUNTER ||
		     event->kind == TRACE_STATE))
		return take_other(window, track, event);
	return take_slice(window, track, out);
}

/* Returns the values of counters and states before FROM. They come last,
 * because a trace may have later values in front of earlier ones. */
static bool give_last(struct window *window, struct window_event *out)
{
	for (; window->at_end < window->track_room; window->at_end++) {
		struct window_track *track = &window->tracks[window->at_end];

		if (!track->last)
			continue;
		*out = (struct window_event){ .event = *track->last,
					      .before = true };
		free(track->last);
		track->last = NULL;
		return true;
	}
	return false;
}

int window_next(struct window *window, struct window_event *out)
{
	int got = 0;

	while (!got && !window->ending) {
		if (window->has_held) {
			got = give_held(window, out);
			continue;
		}
		got = trace_reader_next(window->trace, &out->event);
		if (likely(got > 0)) {
			got = take(window, out);
			continue;
		}
		window->ending = true;
		window->err = window->err ?: got;
		got = 0;
	}
	if (got)
		return got;
	return give_last(window, out) ? 1 : window->err;
}
