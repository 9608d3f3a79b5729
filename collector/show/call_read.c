/* SPDX-License-Identifier: Apache-2.0
 *
 * call_read - each track has a list of open calls. A call that may still be
 * shown is pending. So are all callers of a call that is long enough and in the
 * range. At the end of a call to show, the reader first returns the begins of
 * its pending callers, outermost first, and then its own.
 */
#include "collector/show/call_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/names/name_pattern.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_parts.h"
#include "shared/compiler.h"

/* Events to search for the first time. */
#define ORIGIN_EVENTS 65536

enum open_state { CALL_HIDDEN, CALL_PENDING, CALL_SHOWN };

struct open_call {
	uint64_t begin_ns;
	uint32_t name, category, location;
	uint32_t depth; /* if shown */
	enum open_state state;
	bool inside; /* called by, or itself, a call selected by --function */
	struct call_arguments *kept;
	struct call_arguments *of_wait; /* from its start, for its end */
};

struct call_track {
	struct open_call *open;
	uint32_t count, room;
	uint32_t settled; /* number of outermost calls that are not pending */
	struct thread_choice choice;
};

enum name_match { MATCH_UNKNOWN, MATCH_YES, MATCH_NO };

struct call_reader {
	struct trace_reader *trace;
	struct trace_index *index; /* NULL: all of the trace is read */
	struct call_choice choice;
	uint64_t origin_ns;
	struct time_range range; /* an open end is UINT64_MAX */
	struct call_track *tracks; /* by track number */
	uint32_t track_room;
	uint8_t *matches; /* enum name_match, by number of the text */
	uint32_t match_room;
	struct call_arguments *given; /* of the last event returned */
	/* An end that waits for the begins of its pending callers. */
	struct trace_event end;
	bool has_end;
	/* The track of a call that begins after its pending callers, or NULL. */
	struct trace_track *begins;
	bool met_thread, met_function;
	struct trace_sched *sched; /* NULL: disabled, or no switches */
};

/* --- saved arguments --- */

bool call_argument_next(const struct call_reader *reader,
			struct call_event *event, struct trace_argument *out)
{
	if (event->kept)
		return call_arguments_next(event->kept, &event->kept_at, out);
	return trace_argument_next(reader->trace, &event->event, out);
}

struct call_arguments *call_arguments_keep(const struct call_reader *reader,
					   struct call_event *event)
{
	struct call_arguments *kept = NULL;
	struct trace_argument argument;

	while (call_argument_next(reader, event, &argument))
		kept = call_arguments_add(kept, &argument);
	return kept;
}

/* --- opening --- */

/* Returns the earliest time among the first events of the trace at @path, or
 * 0. */
static uint64_t find_origin(const char *path)
{
	struct trace_reader *trace;
	struct trace_event event;
	uint64_t first = 0;

	if (trace_reader_open(path, &trace))
		return 0;
	for (int i = 0; i < ORIGIN_EVENTS; i++) {
		if (trace_reader_next(trace, &event) <= 0)
			break;
		if (event.track && event.track->kind == TRACE_TRACK_WAITS)
			continue;
		if (event.ns && (!first || event.ns < first))
			first = event.ns;
	}
	trace_reader_close(&trace);
	return first;
}

/* Returns true if a thread of the trace at @path has had several names, or if
 * it cannot be read. */
static bool has_renamed_threads(const char *path,
				const struct trace_index *index)
{
	/* The index describes threads, so only the rest is read. */
	const struct parts_choice choice = { .calls_only = true };
	struct trace_reader *trace;
	const struct trace_track *track;
	struct trace_event event;
	bool renamed;
	int got;

	if (trace_reader_open_parts(path, index, &choice, &trace))
		return true;
	do
		got = trace_reader_next(trace, &event);
	while (got > 0);
	renamed = got < 0;
	for (uint32_t i = 0; (track = trace_reader_track(trace, i)); i++)
		renamed |= track->renamed;
	trace_reader_close(&trace);
	return renamed;
}

/* Reads the index if the parts of the trace in the range are enough. A thread
 * is chosen by the name that it had when its outermost call began, which may be
 * in a part that is skipped. */
static void find_call_parts(struct call_reader *reader, const char *path)
{
	const struct call_choice *choice = &reader->choice;
	const char *thread = choice->thread ?: "";

	if (!call_reader_has_range(reader) ||
	    trace_index_read_beside(path, &reader->index))
		return;
	if (thread[strspn(thread, "0123456789")] &&
	    has_renamed_threads(path, reader->index))
		trace_index_free(&reader->index);
}

static int open_calls(struct call_reader *reader, const char *path)
{
	const struct parts_choice part = { .ranges = &reader->range,
					   .range_count = 1,
					   .ends = true,
					   .callees =
						   reader->choice.self_times };
	int err;

	find_call_parts(reader, path);
	err = trace_reader_open_parts(path, reader->index, &part,
				      &reader->trace);
	if (!err && reader->choice.sched)
		err = trace_sched_read(path, reader->index, NULL,
				       &reader->sched);
	return err;
}

int call_reader_open(const char *path, const struct call_choice *choice,
		     struct call_reader **out)
{
	struct call_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return -ENOMEM;
	reader->choice = *choice;
	reader->range = choice->range;
	if (!reader->range.to_ns)
		reader->range.to_ns = UINT64_MAX;
	reader->met_thread = !choice->thread;
	reader->met_function = !choice->function_count;
	err = open_calls(reader, path);
	if (err) {
		call_reader_close(&reader);
		return err;
	}
	reader->origin_ns =
		choice->origin_ns ? choice->origin_ns : find_origin(path);
	*out = reader;
	return 0;
}

static void forget_call(struct open_call *call)
{
	free(call->kept);
	free(call->of_wait);
}

void call_reader_close(struct call_reader **reader_ptr)
{
	struct call_reader *reader = *reader_ptr;

	*reader_ptr = NULL;
	if (!reader)
		return;
	for (uint32_t i = 0; i < reader->track_room; i++) {
		struct call_track *track = &reader->tracks[i];

		for (uint32_t j = 0; j < track->count; j++)
			forget_call(&track->open[j]);
		free(track->open);
	}
	free(reader->tracks);
	free(reader->matches);
	free(reader->given);
	trace_reader_close(&reader->trace);
	trace_index_free(&reader->index);
	trace_sched_free(&reader->sched);
	free(reader);
}

/* --- times on CPUs --- */

bool call_reader_has_sched(const struct call_reader *reader)
{
	return reader->sched != NULL;
}

uint64_t call_reader_refused_switches(const struct call_reader *reader)
{
	return reader->sched ? trace_sched_refused(reader->sched) : 0;
}

bool call_reader_sched(const struct call_reader *reader,
		       const struct trace_track *track, uint64_t from,
		       uint64_t to, struct trace_sched_sums *out)
{
	if (!reader->sched || !track_has_calls(track))
		return false;
	*out = trace_sched_of_stack(
		reader->sched, track->uuid,
		call_track_thread(reader->trace, track)->tid, from, to);
	return true;
}

uint32_t call_reader_stretches(const struct call_reader *reader,
			       const struct trace_track *track,
			       const struct trace_stretch **out)
{
	uint32_t count, first = 0;

	*out = NULL;
	if (!reader->sched || track->kind != TRACE_TRACK_THREAD)
		return 0;
	count = trace_sched_stretches(reader->sched, track->tid, out);
	while (first < count && (*out)[first].to < reader->range.from_ns)
		first++;
	while (count > first && (*out)[count - 1].from > reader->range.to_ns)
		count--;
	*out += first;
	return count - first;
}

/* --- selection --- */

static bool is_track_chosen(struct call_reader *reader,
			    struct call_track *track,
			    const struct trace_track *shown)
{
	if (reader->choice.calls_only && !track_has_calls(shown))
		return false;
	if (!reader->choice.thread)
		return true;
	/* The track with perfrec's changes of function states applies to all
	 * threads. */
	if (!thread_choice_has(&track->choice, reader->trace,
			       reader->choice.thread, shown, track->count))
		return shown->kind == TRACE_TRACK_OTHER &&
		       strcmp(trace_reader_text(reader->trace, shown->name),
			      "perfrec: states of functions") == 0;
	reader->met_thread = true;
	return true;
}

static bool matches_chosen_name(const struct call_reader *reader,
				const char *name)
{
	for (size_t i = 0; i < reader->choice.function_count; i++)
		if (name_pattern_matches(reader->choice.functions[i], name, ""))
			return true;
	return false;
}

/* Waits match no function. */
static bool is_event_chosen(struct call_reader *reader,
			    const struct trace_event *event)
{
	if (event->track->kind == TRACE_TRACK_WAITS)
		return !reader->choice.function_count;
	if (!reader->choice.function_count)
		return true;
	if (grow_array_zeroed(reader->matches, reader->match_room,
			      event->name + 1))
		return false;
	if (reader->matches[event->name] == MATCH_UNKNOWN)
		reader->matches[event->name] =
			matches_chosen_name(
				reader,
				trace_reader_text(reader->trace, event->name))
				? MATCH_YES
				: MATCH_NO;
	reader->met_function |= reader->matches[event->name] == MATCH_YES;
	return reader->matches[event->name] == MATCH_YES;
}

/* --- begins and ends --- */

static enum open_state first_state(const struct call_reader *reader,
				   const struct open_call *call)
{
	const struct call_choice *choice = &reader->choice;

	if (!call->inside || (choice->depth && call->depth >= choice->depth) ||
	    call->begin_ns >= reader->range.to_ns)
		return CALL_HIDDEN;
	return choice->min_ns || call->begin_ns < reader->range.from_ns
		       ? CALL_PENDING
		       : CALL_SHOWN;
}

/* Returns @arguments, and keeps them until the next event is read. Frees the
 * arguments kept before: they belong to an event that is not shown. */
static struct call_arguments *give_arguments(struct call_reader *reader,
					     struct call_arguments *arguments)
{
	free(reader->given);
	reader->given = arguments;
	return arguments;
}

/* Returns the begin of the outermost pending call of @track, or false. */
static bool give_pending(struct call_reader *reader, struct call_track *track,
			 struct trace_track *shown, struct call_event *out)
{
	for (; track->settled < track->count; track->settled++) {
		struct open_call *call = &track->open[track->settled];

		if (call->state != CALL_PENDING)
			continue;
		call->state = CALL_SHOWN;
		(void)give_arguments(reader, call->kept);
		call->kept = NULL;
		*out = (struct call_event){
			.event = { .kind = TRACE_BEGIN,
				   .ns = call->begin_ns,
				   .track = shown,
				   .name = call->name,
				   .category = call->category,
				   .location = call->location },
			.depth = call->depth,
			.kept = reader->given,
		};
		return true;
	}
	return false;
}

/* Returns 1 to show a begin now, 0 for later or never, or -ENOMEM. */
static int begin_read_call(struct call_reader *reader, struct call_track *track,
			   const struct trace_event *event,
			   struct call_event *out)
{
	struct open_call *call, *around;

	call = grow_array_at(track->open, track->room, track->count);
	if (!call)
		return -ENOMEM;
	track->count++;
	around = track->count > 1 ? call - 1 : NULL;
	*call = (struct open_call){
		.begin_ns = event->ns,
		.name = event->name,
		.category = event->category,
		.location = event->location,
		.depth = around && around->inside ? around->depth + 1 : 0,
		.inside = (around && around->inside) ||
			  is_event_chosen(reader, event),
	};
	call->state = first_state(reader, call);
	if (call->state == CALL_SHOWN && around &&
	    around->state == CALL_PENDING) {
		/* The callers began before the range. */
		call->state = CALL_PENDING;
		reader->begins = event->track;
	}
	if (call->state == CALL_PENDING)
		call->kept = call_arguments_of(reader->trace, event);
	if (event->track->kind == TRACE_TRACK_WAITS)
		call->of_wait = call_arguments_of(reader->trace, event);
	if (reader->begins)
		return give_pending(reader, track, event->track, out);
	*out = (struct call_event){ .event = *event, .depth = call->depth };
	out->event.slice = NULL;
	return call->state == CALL_SHOWN;
}

static struct call_arguments *add_end_arguments(
	const struct call_reader *reader, struct call_arguments *kept)
{
	struct trace_event end = reader->end;
	struct trace_argument argument;

	while (trace_argument_next(reader->trace, &end, &argument))
		kept = call_arguments_add(kept, &argument);
	return kept;
}

/* Ends the innermost call of the track of reader->end, or returns the begin of
 * a pending caller. Returns true if *@out is to be shown. */
static bool end_read_call(struct call_reader *reader, struct call_event *out)
{
	struct trace_event *event = &reader->end;
	struct call_track *track = &reader->tracks[event->track->number];
	struct open_call *call = &track->open[track->count - 1];
	bool shown = call->state == CALL_SHOWN ||
		     (call->state == CALL_PENDING && !event->left &&
		      event->ns >= reader->range.from_ns &&
		      trace_event_took(event, call->begin_ns) >=
			      reader->choice.min_ns);

	if (shown && give_pending(reader, track, event->track, out))
		return true;
	reader->has_end = false;
	*out = (struct call_event){ .event = *event,
				    .depth = call->depth,
				    .begin_ns = call->begin_ns,
				    .took_ns = trace_event_took(
					    event, call->begin_ns) };
	if (event->slice)
		out->callee_ns = event->slice->callee_ns;
	out->event.slice = NULL;
	if (event->track->kind == TRACE_TRACK_WAITS) {
		out->kept = give_arguments(
			reader, add_end_arguments(reader, call->of_wait));
		call->of_wait = NULL;
	}
	forget_call(call);
	track->count--;
	track->settled = MIN(track->settled, track->count);
	return shown;
}

static bool pass_through(const struct call_reader *reader,
			 const struct trace_event *event,
			 struct call_event *out)
{
	*out = (struct call_event){ .event = *event };
	return (!reader->choice.calls_only ||
		(reader->choice.instants && event->kind == TRACE_INSTANT)) &&
	       event->ns >= reader->range.from_ns &&
	       event->ns < reader->range.to_ns;
}

static int take_read_event(struct call_reader *reader,
			   struct trace_event *event, struct call_event *out)
{
	struct call_track *track;

	if (!event->track)
		return !reader->choice.thread &&
		       pass_through(reader, event, out);
	if (event->track->suspends || event->track->holds ||
	    (event->track->kind == TRACE_TRACK_WAITS &&
	     event->kind == TRACE_INSTANT))
		return 0;
	track = grow_array_at(reader->tracks, reader->track_room,
			      event->track->number);
	if (!track)
		return -ENOMEM;
	if (!is_track_chosen(reader, track, event->track))
		return 0;
	if (event->kind == TRACE_BEGIN)
		return begin_read_call(reader, track, event, out);
	if (event->kind != TRACE_END)
		return pass_through(reader, event, out);
	if (!track->count)
		return 0;
	reader->end = *event;
	reader->has_end = true;
	return end_read_call(reader, out);
}

int call_reader_next(struct call_reader *reader, struct call_event *out)
{
	struct trace_event event;
	int got = 0;

	free(reader->given);
	reader->given = NULL;
	if (reader->begins &&
	    give_pending(reader, &reader->tracks[reader->begins->number],
			 reader->begins, out))
		return 1;
	reader->begins = NULL;
	if (reader->has_end && end_read_call(reader, out))
		return 1;
	while (!got) {
		got = trace_reader_next(reader->trace, &event);
		if (got <= 0)
			return got;
		got = take_read_event(reader, &event, out);
	}
	return got;
}

/* --- queries --- */

struct trace_reader *call_reader_trace(const struct call_reader *reader)
{
	return reader->trace;
}

bool call_reader_has_range(const struct call_reader *reader)
{
	return reader->range.from_ns || reader->range.to_ns != UINT64_MAX;
}

uint64_t call_reader_origin(const struct call_reader *reader)
{
	return reader->origin_ns;
}

bool call_reader_met_thread(const struct call_reader *reader)
{
	return reader->met_thread;
}

bool call_reader_met_function(const struct call_reader *reader)
{
	return reader->met_function;
}

bool call_reader_saw_function(const struct call_reader *reader, uint32_t number)
{
	return number < reader->match_room &&
	       reader->matches[number] != MATCH_UNKNOWN;
}
