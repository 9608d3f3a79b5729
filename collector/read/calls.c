/* SPDX-License-Identifier: Apache-2.0
 *
 * calls - a thread runs one function between two of its events, so the time
 * between them is self time of that function. Each event adds the time since
 * the previous one to the cell of the running function (put_time()), and then
 * changes which function runs.
 *
 * Slices of annotations are not functions: only the timeline has them.
 */
#include "collector/read/calls_inner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/read/thread_choice.h"
#include "collector/read/trace_index.h"
#include "shared/compiler.h"

#define CELLS_MAX (2u << 20)
#define BUDGET_BYTES (UINT64_C(64) << 20) /* room for about a million nodes */
#define GAP_CELLS_MAX 4096 /* more than kinds * buckets */

/* In trace_slice.user: the slice has no node of its own. */
#define NO_NODE 1u

static struct call_node *node_at(struct calls *calls, uint32_t number)
{
	return &((struct call_node *)calls->nodes.items)[number];
}

/* --- threads --- */

static int add_thread(struct calls *calls, const struct trace_track *track)
{
	if (calls->thread_count == TIME_THREADS_MAX ||
	    grow_array(calls->threads, calls->thread_room,
		       calls->thread_count + 1))
		return -ENOMEM;
	calls->threads[calls->thread_count++] =
		(struct calls_thread){ .track = track };
	return 0;
}

uint32_t calls_thread_of(struct calls *calls, const struct trace_track *track)
{
	uint32_t known = calls->thread_of_room;

	if (unlikely(!track))
		return 0;
	if (likely(track->number < known && calls->thread_of[track->number]))
		return calls->thread_of[track->number];
	if (grow_array(calls->thread_of, calls->thread_of_room,
		       (size_t)track->number + 1))
		return 0;
	for (; known < calls->thread_of_room; known++)
		calls->thread_of[known] = 0;
	if (!add_thread(calls, track))
		calls->thread_of[track->number] = calls->thread_count - 1;
	return calls->thread_of[track->number];
}

/* --- nodes --- */

uint32_t calls_child(struct calls *calls, uint32_t parent, uint32_t name)
{
	const struct call_node item = { .parent = parent, .name = name };
	uint32_t last = node_at(calls, parent)->last;

	if (likely(last && node_at(calls, last)->name == name))
		return last;
	if (calls->nodes.count == TIME_NODES_MAX ||
	    pool_intern(&calls->nodes, &item, &last) < 0)
		return 0;
	node_at(calls, parent)->last = last;
	return last;
}

/* --- calls --- */

static void end_gap(struct calls *calls, struct calls_thread *thread,
		    uint64_t ns)
{
	thread->has_gap = false;
	time_gap_end(&thread->gap, &calls->gaps, ns);
}

static void put_time(struct calls *calls, uint32_t number, uint64_t ns)
{
	struct calls_thread *thread = &calls->threads[number];

	if (unlikely(thread->has_gap))
		end_gap(calls, thread, ns);
	if (thread->node && ns > thread->at_ns)
		time_cells_add(&calls->cells, number,
			       calls_cells_of(calls, thread->node),
			       thread->at_ns, ns,
			       &node_at(calls, thread->node)->hint);
	thread->at_ns = MAX(thread->at_ns, ns);
}

static void keep_arguments(struct calls *calls, struct calls_thread *thread,
			   const struct trace_event *event)
{
	struct call_arguments *arguments =
		call_arguments_of(calls->reader, event);

	if (likely(!arguments))
		return;
	if (grow_array(thread->open, thread->open_room, thread->open_count + 1))
		free(arguments);
	else
		thread->open[thread->open_count++] =
			(struct open_arguments){ event->depth, arguments };
}

/* Returns the arguments of the slice at @depth, for the caller to free, and
 * frees those of slices inside. */
static struct call_arguments *release_arguments(struct calls_thread *thread,
						uint32_t depth)
{
	while (thread->open_count &&
	       thread->open[thread->open_count - 1].depth >= depth) {
		struct open_arguments *last =
			&thread->open[--thread->open_count];

		if (last->depth == depth)
			return last->arguments;
		free(last->arguments);
	}
	return NULL;
}

/* Only whole calls of the range have a true duration. */
static void take_slow_call(struct calls *calls, uint32_t number,
			   const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;
	uint64_t begin_ns = shown->slice->begin_ns;
	struct call_arguments *arguments =
		release_arguments(&calls->threads[number], event->depth);
	struct slow_call *call = NULL;

	if (!event->left && !shown->after && begin_ns >= calls->range.from_ns)
		call = slowest_add(&calls->slowest, event->name, begin_ns,
				   trace_event_took(event, begin_ns));
	if (likely(!call)) {
		free(arguments);
		return;
	}
	call->thread = number;
	call->depth = event->depth;
	call->unfinished = event->unfinished;
	call->waited_ns = event->ns - begin_ns - call->took_ns;
	slowest_set_arguments(
		&calls->slowest, call,
		call_arguments_add_result(arguments, calls->reader, event));
}

static void begin_call(struct calls *calls, const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;
	uint32_t number = calls_thread_of(calls, event->track), node;
	struct calls_thread *thread = &calls->threads[number];
	/* A call that continues behind skipped chunks is already counted. */
	bool counts = !event->seed || !event->track->from_ns;
	struct time_cell *cell;

	shown->slice->user = NO_NODE;
	if (number && !shown->before)
		keep_arguments(calls, thread, event);
	if (!number || event->category || event->location)
		return;
	put_time(calls, number, shown->slice->shown_ns);
	node = calls_child(calls, thread->node, event->name);
	if (!node) {
		calls->folded += counts;
		return;
	}
	shown->slice->user = (uint64_t)node << 1;
	thread->node = node;
	if (!counts)
		return;
	cell = time_cells_get(&calls->cells, number,
			      calls_cells_of(calls, node), thread->at_ns,
			      &node_at(calls, node)->hint);
	if (cell)
		cell->calls++;
}

static void end_call(struct calls *calls, const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;
	uint32_t number = calls_thread_of(calls, event->track);
	uint64_t user = shown->slice->user;
	uint64_t begin = MAX(shown->slice->begin_ns, calls->range.from_ns);
	struct timeline_call call = { .thread = number,
				      .depth = event->depth,
				      .begin_ns = begin,
				      .duration_ns = event->ns - begin,
				      .name = event->name,
				      .count = 1 };

	if (!number)
		return;
	put_time(calls, number, event->ns);
	if (!(user & NO_NODE))
		calls->threads[number].node =
			calls_node(calls, (uint32_t)(user >> 1))->parent;
	if (!event->left)
		timeline_take(&calls->timeline, &call);
	take_slow_call(calls, number, shown);
}

/* --- samples --- */

static uint32_t walk_stack(struct calls *calls, uint32_t stack)
{
	const struct trace_frame *frames;
	uint32_t count = trace_reader_stack(calls->reader, stack, &frames);
	uint32_t node = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t child = calls_child(calls, node, frames[i].function);

		node = child ? child : node;
	}
	return node;
}

static uint32_t find_stack(struct calls *calls, uint32_t stack)
{
	uint32_t known = calls->stack_room;

	if (stack < known && calls->stack_nodes[stack])
		return calls->stack_nodes[stack];
	if (grow_array(calls->stack_nodes, calls->stack_room,
		       (size_t)stack + 1))
		return 0;
	for (; known < calls->stack_room; known++)
		calls->stack_nodes[known] = 0;
	return calls->stack_nodes[stack] = walk_stack(calls, stack);
}

static void take_sample(struct calls *calls, const struct trace_event *event)
{
	uint32_t number = calls_thread_of(calls, event->track);
	uint32_t node = find_stack(calls, event->stack);
	struct time_cell *cell;

	cell = time_cells_get(&calls->cells, number, node, event->ns,
			      &node_at(calls, node)->hint);
	if (cell)
		cell->samples++;
}

/* --- calls that were not recorded --- */

/* Instants of a thread report the number of missing calls. */
static void take_instant(struct calls *calls, const struct trace_event *event)
{
	static const char *const names[TIME_GAP_KINDS] = {
		[TIME_GAP_LOST] = TIME_GAP_LOST_NAME,
		[TIME_GAP_PAUSED] = TIME_GAP_PAUSED_NAME,
	};
	uint32_t number = calls_thread_of(calls, event->track);
	struct trace_event copy = *event;
	struct trace_argument argument;

	/* These instants have one argument only. */
	if (!number || !trace_argument_next(calls->reader, &copy, &argument) ||
	    (argument.kind != TRACE_ARGUMENT_INT &&
	     argument.kind != TRACE_ARGUMENT_UINT))
		return;
	for (int kind = 0; kind < TIME_GAP_KINDS; kind++)
		if (trace_argument_is(&argument, names[kind])) {
			struct calls_thread *thread = &calls->threads[number];

			thread->has_gap = true;
			time_gap_add(&thread->gap, (enum time_gap_kind)kind,
				     argument.number, event->ns);
		}
}

static void finish_gaps(struct calls *calls)
{
	for (uint32_t i = 0; i < calls->thread_count; i++)
		if (calls->threads[i].has_gap)
			end_gap(calls, &calls->threads[i],
				calls->threads[i].at_ns);
	time_cells_sort(&calls->gaps);
}

/* --- counters --- */

const char *calls_curve_name(const struct calls *calls,
			     const struct calls_curve *curve)
{
	return trace_reader_text(calls->reader, curve->track->name);
}

static struct calls_curve *find_curve(struct calls *calls,
				      const struct trace_track *track)
{
	struct calls_curve *curve;

	for (uint32_t i = 0; i < calls->curve_count; i++)
		if (calls->curves[i]->track == track)
			return calls->curves[i];
	if (calls->curve_count == ARRAY_SIZE(calls->curves))
		return NULL;
	curve = calloc(1, sizeof(*curve));
	if (!curve)
		return NULL;
	curve->track = track;
	return calls->curves[calls->curve_count++] = curve;
}

/* Merges @point into *@to, an earlier point of the same stretch. */
static void join_points(struct calls_point *to, const struct calls_point *point)
{
	if (point->value > to->value) {
		to->ns = point->ns;
		to->value = point->value;
	}
	to->after = point->after;
}

static void halve_curve(struct calls_curve *curve)
{
	uint32_t kept = 0;

	curve->shift++;
	for (uint32_t i = 0; i < curve->count; i++) {
		struct calls_point *point = &curve->points[i];
		struct calls_point *to = &curve->points[kept ? kept - 1 : 0];

		if (kept && to->ns >> curve->shift == point->ns >> curve->shift)
			join_points(to, point);
		else
			curve->points[kept++] = *point;
	}
	curve->count = kept;
}

static void add_point(struct calls_curve *curve,
		      const struct calls_point *point)
{
	struct calls_point *last =
		&curve->points[curve->count ? curve->count - 1 : 0];

	curve->last = *point;
	if (point->value > curve->peak.value)
		curve->peak = *point;
	if (curve->count &&
	    last->ns >> curve->shift == point->ns >> curve->shift) {
		join_points(last, point);
		return;
	}
	while (curve->count == CALLS_CURVE_POINTS && curve->shift < 63)
		halve_curve(curve);
	if (curve->count < CALLS_CURVE_POINTS)
		curve->points[curve->count++] = *point;
}

static void put_first(struct calls_curve *curve,
		      const struct calls_point *point)
{
	while (curve->count == CALLS_CURVE_POINTS && curve->shift < 63)
		halve_curve(curve);
	if (curve->count == CALLS_CURVE_POINTS)
		return;
	memmove(curve->points + 1, curve->points,
		curve->count * sizeof(*curve->points));
	curve->points[0] = *point;
	curve->count++;
	if (point->value > curve->peak.value)
		curve->peak = *point;
	if (curve->count == 1)
		curve->last = *point;
}

static void take_counter(struct calls *calls, const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;
	uint64_t value = (uint64_t)MAX(event->value, 0);
	const struct calls_point point = { MAX(event->ns, calls->range.from_ns),
					   value, value };
	struct calls_curve *curve;

	if (event->track->kind != TRACE_TRACK_COUNTER)
		return;
	curve = event->is_double || event->value < 0
			? NULL
			: find_curve(calls, event->track);
	calls->curves_refused += !curve;
	if (curve && shown->before)
		put_first(curve, &point);
	else if (curve && event->ns >= curve->last.ns)
		add_point(curve, &point);
}

static void finish_curves(struct calls *calls)
{
	for (uint32_t i = 0; i < calls->curve_count; i++) {
		struct calls_curve *curve = calls->curves[i];

		if (curve->count &&
		    curve->points[curve->count - 1].ns < curve->last.ns)
			curve->points[curve->count++] = curve->last;
		if (strcmp(calls_curve_name(calls, curve), CALLS_IN_USE_NAME))
			continue;
		calls->in_use_count++;
		if (!calls->curve ||
		    curve->peak.value > calls->curve->peak.value)
			calls->curve = curve;
	}
}

/* --- the pass --- */

static void take_event(struct calls *calls, const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;

	switch (event->kind) {
	case TRACE_BEGIN:
		if (track_has_calls(event->track))
			begin_call(calls, shown);
		else
			shown->slice->user = NO_NODE;
		break;
	case TRACE_END:
		if (track_has_calls(event->track))
			end_call(calls, shown);
		break;
	case TRACE_INSTANT:
		if (track_has_calls(event->track))
			take_instant(calls, event);
		break;
	case TRACE_SAMPLE:
		take_sample(calls, event);
		break;
	case TRACE_COUNTER:
		take_counter(calls, shown);
		break;
	default:
		break;
	}
}

static void set_totals(struct calls *calls)
{
	uint64_t first_ns, last_ns;

	calls->totals = trace_reader_totals(calls->reader);
	if (!calls->by_index)
		return;
	trace_index_times(window_index(calls->window), &first_ns, &last_ns);
	if (first_ns &&
	    (!calls->totals.first_ns || first_ns < calls->totals.first_ns))
		calls->totals.first_ns = first_ns;
	calls->totals.last_ns = MAX(calls->totals.last_ns, last_ns);
}

static int read_all(struct calls *calls, const char *path,
		    const struct calls_choice *choice)
{
	struct window_event shown;
	int got = 0;

	/* Fixes the bucket width early if the range is closed on both sides. */
	if (calls->range.from_ns && calls->range.to_ns != UINT64_MAX)
		time_cells_reach(&calls->cells, calls->range.from_ns,
				 calls->range.to_ns - 1);
	if (calls->summed)
		got = calls_index_add(calls, choice->folds);
	if (got)
		return got;
	while ((got = window_next(calls->window, &shown)) > 0)
		take_event(calls, &shown);
	calls->err = got;
	set_totals(calls);
	time_cells_sort(&calls->cells);
	timeline_finish(&calls->timeline);
	slowest_finish(&calls->slowest);
	finish_gaps(calls);
	got = calls->by_index ? calls_counters_add(calls, path, choice) : 0;
	finish_curves(calls);
	return got;
}

/* Estimates the calls in the range: all calls of chunks that overlap it. */
static uint64_t count_calls(const struct calls_choice *choice)
{
	const struct trace_index *index = choice->index;
	uint64_t count = 0;

	for (uint32_t i = 0; i < index->sequence_count; i++)
		for (uint32_t j = 0; j < index->sequences[i].chunk_count; j++) {
			const struct index_chunk *chunk =
				&index->sequences[i].chunks[j];

			if (chunk->whole &&
			    chunk->end_ns >= choice->range.from_ns &&
			    chunk->start_ns < choice->range.to_ns)
				count += chunk->spans;
		}
	return count;
}

static int open_window(struct calls *calls, const char *path,
		       const struct calls_choice *choice)
{
	struct window_choice part = { .range = choice->range,
				      .thread = choice->thread,
				      .index = choice->index,
				      .calls_only = choice->index };

	calls->by_index = choice->index;
	calls->summed =
		choice->index && count_calls(choice) > choice->few_calls;
	if (calls->summed)
		part.skips = PARTS_SKIP_DETAILED;
	return window_open(path, &part, &calls->window);
}

static int start(struct calls *calls, const char *path,
		 const struct calls_choice *choice)
{
	const struct call_node none = { 0 };
	uint32_t number;
	int err;

	calls->range = choice->range;
	calls->budget.left = BUDGET_BYTES;
	pool_init(&calls->nodes, &calls->budget, sizeof(struct call_node),
		  offsetof(struct call_node, last));
	time_cells_init(&calls->cells, CELLS_MAX);
	time_cells_init(&calls->gaps, GAP_CELLS_MAX);
	slowest_init(&calls->slowest);
	err = open_window(calls, path, choice);
	if (err)
		return err;
	calls->reader = window_trace(calls->window);
	err = timeline_init(&calls->timeline);
	if (!err)
		err = add_thread(calls, NULL);
	if (!err && pool_intern(&calls->nodes, &none, &number) < 0)
		err = -ENOMEM;
	return err;
}

int calls_read(const char *path, const struct calls_choice *choice,
	       const struct read_progress *progress, struct calls **out)
{
	static const struct calls_choice all = { .range = TIME_RANGE_ALL };
	struct calls *calls = calloc(1, sizeof(*calls));
	int err;

	if (!calls)
		return -ENOMEM;
	choice = choice ?: &all;
	err = start(calls, path, choice);
	if (!err && progress)
		trace_reader_set_progress(calls->reader, progress);
	if (!err)
		err = read_all(calls, path, choice);
	if (err)
		calls_free(&calls);
	else
		*out = calls;
	return err;
}

void calls_free(struct calls **calls)
{
	struct calls *self = *calls;

	if (!self)
		return;
	for (uint32_t i = 0; i < self->curve_count; i++)
		free(self->curves[i]);
	time_cells_release(&self->cells);
	time_cells_release(&self->gaps);
	timeline_release(&self->timeline);
	slowest_release(&self->slowest);
	for (uint32_t i = 0; i < self->thread_count; i++) {
		free(release_arguments(&self->threads[i], 0));
		free(self->threads[i].open);
	}
	pool_release(&self->nodes);
	free(self->threads);
	free(self->thread_of);
	free(self->stack_nodes);
	free(self->folded_to);
	window_close(&self->window);
	free(self);
	*calls = NULL;
}

uint32_t calls_cells_of(const struct calls *calls, uint32_t number)
{
	uint32_t caller = number;

	if (likely(!calls->folded_count))
		return number;
	/* Nodes added after the folding belong to rare stacks. */
	while (caller >= calls->folded_count) {
		number = caller;
		caller = calls_node(calls, caller)->parent;
	}
	return calls->folded_to[caller] ?: caller ?: number;
}

bool calls_find(const struct calls *calls, uint32_t parent, uint32_t name,
		uint32_t *out)
{
	const struct call_node item = { .parent = parent, .name = name };

	return pool_find(&calls->nodes, &item, out);
}

bool calls_is_wait(const struct calls *calls, uint32_t number)
{
	uint32_t name = calls_node(calls, number)->name;

	return !strcmp(trace_reader_text(calls->reader, name), INDEX_WAIT_NAME);
}
