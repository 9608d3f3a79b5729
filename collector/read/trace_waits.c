/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_waits - waits, holds and wakers are slices and instants of tracks of
 * waits. A flow leads from a release to an instant inside of the wait that it
 * ended; without a flow the arguments of the wait name its waker.
 */
#include "collector/read/trace_waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/read/thread_choice.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_parts.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"

#define JOIN "[join thread "
#define MEMORY_MAX (UINT64_C(1) << 30)

/* One end of a flow. */
struct wait_flow {
	uint64_t id, ns;
	const struct trace_track *thread;
	bool ends; /* inside of a wait */
};

/* --- reading --- */

static uint32_t text_of_argument(struct trace_waits *waits,
				 const struct trace_argument *argument)
{
	return argument->kind == TRACE_ARGUMENT_TEXT
		       ? trace_texts_number(&waits->texts,
					    (const uint8_t *)argument->text,
					    argument->text_bytes)
		       : 0;
}

/* Waits for these objects end without another thread of the recording. */
static bool is_outside(const char *object)
{
	static const char *const outside[] = { "[sleep]",   "[page fault]",
					       "[file ",    "[timerfd ",
					       "[stopped]", "[frozen]",
					       "[perfrec]" };

	for (size_t i = 0; i < ARRAY_SIZE(outside); i++)
		if (!strncmp(object, outside[i], strlen(outside[i])))
			return true;
	return false;
}

static int begin_read_wait(struct trace_waits *waits, struct trace_event *event)
{
	const char *object = trace_reader_text(waits->reader, event->name);
	struct trace_wait wait = {
		.thread = event->track,
		.from_ns = event->ns,
		.to_ns = event->ns,
		.is_start = event->kind == TRACE_INSTANT,
		.object = trace_texts_number(
			&waits->texts, (const uint8_t *)object, strlen(object))
	};
	enum wait_end result = WAIT_END_UNKNOWN;
	struct trace_argument argument;
	unsigned int tid;

	if (is_outside(object))
		wait.end = WAIT_END_OUTSIDE;
	if (sscanf(object, JOIN "%u]", &tid) == 1) {
		wait.end = WAIT_END_THREAD;
		wait.woken_tid = tid;
	}
	while (trace_argument_next(waits->reader, event, &argument))
		if (trace_argument_is(&argument, "lock"))
			wait.lock = text_of_argument(waits, &argument);
		else if (trace_argument_is(&argument, "woken_by") &&
			 trace_argument_has_text(&argument, "outside"))
			wait.end = WAIT_END_OUTSIDE;
		else if (trace_argument_is(&argument, "woken_by") &&
			 !trace_argument_has_text(&argument, "unknown")) {
			wait.end = WAIT_END_THREAD;
			wait.woken_by = text_of_argument(waits, &argument);
		} else if (trace_argument_is(&argument, "woken_by_tid"))
			wait.woken_tid = (int64_t)argument.number;
		else if (trace_argument_is(&argument, "woken_in"))
			wait.woken_in = text_of_argument(waits, &argument);
		else if (trace_argument_is(&argument, "started_by_tid")) {
			wait.end = WAIT_END_THREAD;
			wait.woken_tid = (int64_t)argument.number;
		} else if (trace_argument_is(&argument, "result"))
			result = trace_argument_has_text(&argument, "timed out")
					 ? WAIT_END_TIMEOUT
				 : trace_argument_has_text(&argument,
							   "end of process")
					 ? WAIT_END_PROCESS
					 : result;
	if (result != WAIT_END_UNKNOWN)
		wait.end = result;
	if (grow_array_from(&waits->budget, waits->waits, waits->wait_room,
			    waits->wait_count + 1))
		return -ENOMEM;
	waits->waits[waits->wait_count++] = wait;
	return 0;
}

static int begin_read_hold(struct trace_waits *waits, struct trace_event *event)
{
	struct trace_hold hold = { .thread = event->track,
				   .from_ns = event->ns,
				   .to_ns = event->ns };
	struct trace_argument argument;

	while (trace_argument_next(waits->reader, event, &argument))
		if (trace_argument_is(&argument, "lock"))
			hold.lock = text_of_argument(waits, &argument);
		else if (trace_argument_is(&argument, "in"))
			hold.in = text_of_argument(waits, &argument);
		else if (trace_argument_is(&argument, "held_by"))
			hold.by = text_of_argument(waits, &argument);
	if (grow_array_from(&waits->budget, waits->holds, waits->hold_room,
			    waits->hold_count + 1))
		return -ENOMEM;
	waits->holds[waits->hold_count++] = hold;
	return 0;
}

static int take_wait_event(struct trace_waits *waits, struct trace_event *event)
{
	struct wait_flow flow = { .ns = event->ns, .thread = event->track };
	struct wire fields = event->fields;
	bool holds = event->track->holds;
	uint64_t *number;
	int err = 0;

	while (fields.at && trace_flow_next(&fields, &flow.id, &flow.ends)) {
		if (grow_array_from(&waits->budget, waits->flows,
				    waits->flow_room, waits->flow_count + 1))
			return -ENOMEM;
		waits->flows[waits->flow_count++] = flow;
	}
	if (event->kind == TRACE_INSTANT && !holds &&
	    !strcmp(trace_reader_text(waits->reader, event->name), OUT_STARTED))
		return begin_read_wait(waits, event);
	if (!event->slice)
		return 0;
	/* The number of an open slice counts from 1 on: it may have begun
	 * without memory, or before the file. */
	number = &event->slice->user;
	if (event->kind == TRACE_BEGIN) {
		err = holds ? begin_read_hold(waits, event)
			    : begin_read_wait(waits, event);
		*number = holds ? waits->hold_count : waits->wait_count;
	} else if (event->kind == TRACE_END && *number) {
		if (holds)
			waits->holds[*number - 1].to_ns = event->ns;
		else
			waits->waits[*number - 1].to_ns = event->ns;
	}
	return err;
}

/* --- who ended a wait --- */

static int compare_waits(const void *left, const void *right)
{
	const struct trace_wait *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread->number < b->thread->number ? -1 : 1;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->to_ns > b->to_ns) - (a->to_ns < b->to_ns);
}

static int compare_holds(const void *left, const void *right)
{
	const struct trace_hold *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread->number < b->thread->number ? -1 : 1;
	if (a->to_ns != b->to_ns)
		return a->to_ns < b->to_ns ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int compare_flows(const void *left, const void *right)
{
	const struct wait_flow *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->ends != b->ends)
		return a->ends ? 1 : -1;
	return (a->ns > b->ns) - (a->ns < b->ns);
}

void trace_waits_sort(struct trace_waits *waits)
{
	if (waits->wait_count)
		qsort(waits->waits, waits->wait_count, sizeof(*waits->waits),
		      compare_waits);
}

size_t trace_waits_of(const struct trace_waits *waits,
		      const struct trace_track *thread,
		      const struct trace_wait **first)
{
	size_t from =
		search_first(i, waits->wait_count,
			     waits->waits[i].thread->number >= thread->number);
	size_t to =
		search_first(i, waits->wait_count,
			     waits->waits[i].thread->number > thread->number);

	*first = waits->waits + from;
	return to - from;
}

/* A flow has one start, which is sorted before its ends. */
static void join_flows(struct trace_waits *waits)
{
	const struct wait_flow *start = NULL;

	for (size_t i = 0; i < waits->flow_count; i++) {
		const struct wait_flow *flow = &waits->flows[i];
		const struct trace_wait *first;
		struct trace_wait *wait;
		size_t count, after;

		if (start && start->id != flow->id)
			start = NULL;
		if (!flow->ends) {
			start = start ?: flow;
			continue;
		}
		count = trace_waits_of(waits, flow->thread, &first);
		after = search_first(j, count, first[j].from_ns > flow->ns);
		if (!start || start->thread == flow->thread || !after ||
		    first[after - 1].to_ns < flow->ns)
			continue;
		wait = &waits->waits[(size_t)(first - waits->waits) + after -
				     1];
		wait->waker = start->thread;
		wait->release_ns = MIN(start->ns, wait->to_ns);
		if (wait->end == WAIT_END_UNKNOWN)
			wait->end = WAIT_END_THREAD;
	}
}

/* The threads of the trace, sorted by their ids. */
struct thread_ids {
	const struct trace_track **thread;
	size_t count, room;
};

static int compare_thread_ids(const void *left, const void *right)
{
	const struct trace_track *a = *(const struct trace_track *const *)left;
	const struct trace_track *b = *(const struct trace_track *const *)right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static int list_thread_ids(struct trace_waits *waits, struct thread_ids *ids)
{
	const struct trace_track *track;

	for (uint32_t i = 0; (track = trace_reader_track(waits->reader, i));
	     i++) {
		if (track->kind != TRACE_TRACK_THREAD)
			continue;
		if (grow_array(ids->thread, ids->room, ids->count + 1))
			return -ENOMEM;
		ids->thread[ids->count++] = track;
	}
	if (ids->count)
		qsort(ids->thread, ids->count, sizeof(*ids->thread),
		      compare_thread_ids);
	return 0;
}

/* Thread ids are reused, and each namespace has its own. Returns the thread that
 * had @wait->woken_tid last before the wait's end, first of all in its process. */
static const struct trace_track *find_waker(const struct thread_ids *ids,
					    const struct trace_wait *wait)
{
	const struct trace_track *best = NULL;
	size_t i = search_first(j, ids->count,
				ids->thread[j]->tid >= wait->woken_tid);

	for (; i < ids->count && ids->thread[i]->tid == wait->woken_tid; i++) {
		const struct trace_track *track = ids->thread[i];
		bool own = track->process == wait->thread->process;

		if (track == wait->thread || track->first_ns > wait->to_ns)
			continue;
		if (best && (best->process == wait->thread->process) != own) {
			best = own ? track : best;
			continue;
		}
		if (!best || track->first_ns > best->first_ns)
			best = track;
	}
	return best;
}

/* Returns the last moment at which the waker released the lock for @wait; 0:
 * unknown. */
static uint64_t find_release(const struct trace_waits *waits,
			     const struct trace_wait *wait)
{
	uint32_t thread = wait->waker->number;
	size_t after = search_first(
		i, waits->hold_count,
		waits->holds[i].thread->number > thread ||
			(waits->holds[i].thread->number == thread &&
			 waits->holds[i].to_ns > wait->to_ns));

	while (after--) {
		const struct trace_hold *hold = &waits->holds[after];

		if (hold->thread->number != thread ||
		    hold->to_ns + OUT_RELEASE_EARLY_NS < wait->from_ns)
			return 0;
		if (hold->lock == wait->lock)
			return hold->to_ns;
	}
	return 0;
}

static void name_wakers(struct trace_waits *waits, const struct thread_ids *ids)
{
	for (size_t i = 0; i < waits->wait_count; i++) {
		struct trace_wait *wait = &waits->waits[i];
		const struct trace_wait *last = i ? wait - 1 : wait;
		const char *object =
			trace_texts_get(&waits->texts, wait->object);

		if (wait->end != WAIT_END_THREAD || wait->waker ||
		    !wait->woken_tid)
			continue;
		if (last->thread == wait->thread && last->waker &&
		    last->woken_tid == wait->woken_tid &&
		    last->waker->last_ns >= wait->from_ns)
			wait->waker = last->waker;
		else
			wait->waker = find_waker(ids, wait);
		if (wait->waker && wait->lock)
			wait->release_ns = find_release(waits, wait);
		else if (wait->waker && !strncmp(object, JOIN, strlen(JOIN)) &&
			 wait->waker->last_ns <= wait->to_ns)
			wait->release_ns = wait->waker->last_ns;
	}
}

/* Tracks are complete only at the end of the file. */
static int resolve_waits(struct trace_waits *waits)
{
	const struct trace_reader *reader = waits->reader;
	struct thread_ids ids = { 0 };
	int err = list_thread_ids(waits, &ids);

	for (size_t i = 0; i < waits->wait_count; i++)
		waits->waits[i].thread =
			call_track_thread(reader, waits->waits[i].thread);
	for (size_t i = 0; i < waits->hold_count; i++)
		waits->holds[i].thread =
			call_track_thread(reader, waits->holds[i].thread);
	for (size_t i = 0; i < waits->flow_count; i++)
		waits->flows[i].thread =
			call_track_thread(reader, waits->flows[i].thread);
	trace_waits_sort(waits);
	if (waits->hold_count)
		qsort(waits->holds, waits->hold_count, sizeof(*waits->holds),
		      compare_holds);
	if (waits->flow_count)
		qsort(waits->flows, waits->flow_count, sizeof(*waits->flows),
		      compare_flows);
	join_flows(waits);
	if (!err)
		name_wakers(waits, &ids);
	free(ids.thread);
	return err;
}

static bool has_no_waits(void *context, const struct index_sequence *sequence)
{
	(void)context;
	(void)sequence;
	return false;
}

int trace_waits_read(const char *path, const struct trace_waits_also *also,
		     const struct read_progress *progress,
		     struct trace_waits **out)
{
	struct trace_waits *waits = calloc(1, sizeof(*waits));
	static const struct time_range all = { 0, UINT64_MAX };
	const struct parts_choice choice = { .ranges = &all,
					     .range_count = 1,
					     .has = has_no_waits };
	struct trace_event event;
	int err, got = 0;

	if (!waits)
		return -ENOMEM;
	/* Packets of calls are skipped if the index has their places. */
	if (!also)
		trace_index_read_beside(path, &waits->index);
	waits->budget.left = MEMORY_MAX;
	err = trace_texts_init(&waits->texts, &waits->budget);
	if (!err)
		err = trace_reader_open_parts(path, waits->index, &choice,
					      &waits->reader);
	if (!err && progress)
		trace_reader_set_progress(waits->reader, progress);
	while (!err && (got = trace_reader_next(waits->reader, &event)) > 0)
		if (event.track && event.track->kind == TRACE_TRACK_WAITS &&
		    !event.track->suspends)
			err = take_wait_event(waits, &event);
		else if (also)
			err = also->take(also->context, waits->reader, &event);
	/* A wait without the name of its lock would be another one. */
	if (!err && waits->texts.refused)
		err = -ENOMEM;
	if (!err)
		err = resolve_waits(waits);
	if (err) {
		trace_waits_free(&waits);
		return err;
	}
	waits->err = got;
	waits->totals = trace_reader_totals(waits->reader);
	*out = waits;
	return 0;
}

void trace_waits_free(struct trace_waits **waits_ptr)
{
	struct trace_waits *waits = *waits_ptr;

	*waits_ptr = NULL;
	if (!waits)
		return;
	trace_reader_close(&waits->reader);
	trace_index_free(&waits->index);
	trace_texts_release(&waits->texts);
	free(waits->waits);
	free(waits->holds);
	free(waits->flows);
	free(waits);
}
