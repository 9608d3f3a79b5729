/* SPDX-License-Identifier: Apache-2.0
 *
 * calls - a thread runs one function between two of its events, so the time
 * between them is self time of that function. Each event adds the time since
 * the previous one to the cell of the running function (add_thread_time()), and then
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
#define WAITS_PART 8
#define GAP_CELLS_MAX 4096 /* more than kinds * buckets */

/* --- calls --- */

static void end_gap(struct calls *calls, struct call_thread *thread,
		    uint64_t ns)
{
	thread->has_gap = false;
	time_gap_end(&thread->gap, &calls->gaps, ns);
}

static void add_thread_time(struct calls *calls, uint32_t number, uint64_t ns)
{
	struct call_thread *thread = &calls->tree.threads[number];
	uint32_t node = calls->tree.tracks[thread->track->number].node;

	if (unlikely(thread->has_gap))
		end_gap(calls, thread, ns);
	if (node && ns > thread->at_ns)
		time_cells_add(&calls->cells, number,
			       calls_cells_of(calls, node), thread->at_ns, ns,
			       &call_tree_node(&calls->tree, node)->hint);
	thread->at_ns = MAX(thread->at_ns, ns);
}

static void keep_arguments(struct calls *calls, struct call_thread *thread,
			   const struct trace_event *event)
{
	struct call_arguments *arguments =
		call_arguments_of(calls->tree.reader, event);

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
static struct call_arguments *release_arguments(struct call_thread *thread,
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
		release_arguments(&calls->tree.threads[number], event->depth);
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
	slowest_set_arguments(&calls->slowest, call,
			      call_arguments_add_result(
				      arguments, calls->tree.reader, event));
}

static void begin_call(struct calls *calls, const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;
	uint32_t number = call_tree_thread(&calls->tree, event->track), node;
	bool counts = call_tree_counts(event);
	struct time_cell *cell;

	if (number && !shown->before)
		keep_arguments(calls, &calls->tree.threads[number], event);
	if (!number || event->category || event->location)
		return;
	add_thread_time(calls, number, shown->slice->shown_ns);
	node = call_tree_enter(&calls->tree, shown, event->name, counts);
	if (!node || !counts)
		return;
	cell = time_cells_get(&calls->cells, number,
			      calls_cells_of(calls, node),
			      calls->tree.threads[number].at_ns,
			      &call_tree_node(&calls->tree, node)->hint);
	if (cell)
		cell->calls++;
}

static void end_call(struct calls *calls, const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;
	uint32_t number = call_tree_thread(&calls->tree, event->track);
	uint64_t begin = MAX(shown->slice->begin_ns, calls->range.from_ns);
	struct timeline_call call = { .thread = number,
				      .depth = event->depth,
				      .begin_ns = begin,
				      .duration_ns = event->ns - begin,
				      .name = event->name,
				      .count = 1 };

	if (!number)
		return;
	add_thread_time(calls, number, event->ns);
	call_tree_leave(&calls->tree, shown);
	if (!event->left)
		timeline_take(&calls->timeline, &call);
	take_slow_call(calls, number, shown);
}

/* Adds a wait that has ended, by the name of its object. */
static void take_ended_wait(struct calls *calls,
			    const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;
	uint64_t begin_ns = MAX(shown->slice->begin_ns, calls->range.from_ns);
	struct timeline_call wait = {
		.thread = call_tree_thread(
			&calls->tree,
			trace_reader_find_track(calls->tree.reader,
						event->track->parent)),
		.begin_ns = begin_ns,
		.duration_ns = event->ns - begin_ns,
		.name = event->name,
		.count = 1,
	};

	if (wait.thread && event->ns > begin_ns)
		timeline_take(&calls->waits, &wait);
}

/* --- samples --- */

static uint32_t walk_stack(struct calls *calls, uint32_t stack)
{
	const struct trace_frame *frames;
	uint32_t count = trace_reader_stack(calls->tree.reader, stack, &frames);
	uint32_t node = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t child =
			call_tree_child(&calls->tree, node, frames[i].function);

		node = child ? child : node;
	}
	return node;
}

static uint32_t find_stack(struct calls *calls, uint32_t stack)
{
	if (stack < calls->stack_room && calls->stack_nodes[stack])
		return calls->stack_nodes[stack];
	if (grow_array_zeroed(calls->stack_nodes, calls->stack_room,
			      (size_t)stack + 1))
		return 0;
	return calls->stack_nodes[stack] = walk_stack(calls, stack);
}

static void take_sample(struct calls *calls, const struct trace_event *event)
{
	uint32_t number = call_tree_thread(&calls->tree, event->track);
	uint32_t node = find_stack(calls, event->stack);
	struct time_cell *cell;

	cell = time_cells_get(&calls->cells, number, node, event->ns,
			      &call_tree_node(&calls->tree, node)->hint);
	if (cell)
		cell->samples++;
}

/* --- calls that were not recorded --- */

static void keep_instant(struct calls *calls, uint32_t thread,
			 const struct trace_event *event)
{
	if (calls->instant_count == CALLS_INSTANTS ||
	    grow_array(calls->instants, calls->instant_room,
		       calls->instant_count + 1)) {
		calls->instants_refused++;
		return;
	}
	calls->instants[calls->instant_count++] =
		(struct call_instant){ event->ns, thread, event->name,
				       call_arguments_of(calls->tree.reader,
							 event) };
}

static void take_instant(struct calls *calls, const struct trace_event *event)
{
	uint32_t number = call_tree_thread(&calls->tree, event->track);
	struct call_thread *thread = &calls->tree.threads[number];
	enum time_gap_kind kind;
	uint64_t missing;

	if (!number)
		return;
	keep_instant(calls, number, event);
	if (!call_tree_missing(&calls->tree, event, &kind, &missing))
		return;
	thread->has_gap = true;
	time_gap_add(&thread->gap, kind, missing, event->ns);
}

static void finish_gaps(struct calls *calls)
{
	for (uint32_t i = 0; i < calls->tree.thread_count; i++) {
		struct call_thread *thread = &calls->tree.threads[i];

		if (thread->has_gap)
			end_gap(calls, thread, thread->at_ns);
	}
	time_cells_sort(&calls->gaps);
}

/* --- counters --- */

const char *calls_curve_name(const struct calls *calls,
			     const struct calls_curve *curve)
{
	return trace_reader_text(calls->tree.reader, curve->track->name);
}

static void free_bands(struct calls *calls)
{
	while (calls->band_count)
		free(calls->bands[--calls->band_count]);
}

bool calls_find_band(struct calls *calls, const struct trace_track *track,
		     struct calls_curve **out)
{
	const struct trace_track *first;
	struct calls_curve *band;

	*out = NULL;
	if (strncmp(trace_reader_text(calls->tree.reader, track->name),
		    CALLS_BAND_NAME, strlen(CALLS_BAND_NAME)) != 0)
		return false;
	for (uint32_t i = 0; i < calls->band_count; i++)
		if (calls->bands[i]->track == track) {
			*out = calls->bands[i];
			return true;
		}
	/* A later process has bands only if its peak is higher. */
	first = calls->band_count ? calls->bands[0]->track : track;
	if (track->parent != first->parent && track->number > first->number)
		free_bands(calls);
	else if (track->parent != first->parent)
		return true;
	if (calls->band_count == CALLS_BANDS)
		return true;
	band = calloc(1, sizeof(*band));
	if (band) {
		band->track = track;
		calls->bands[calls->band_count++] = band;
	}
	*out = band;
	return true;
}

struct calls_curve *calls_curve_place(struct calls *calls,
				      const struct trace_track *track,
				      uint64_t peak)
{
	struct calls_curve *curve = NULL;

	if (calls->curve_count < ARRAY_SIZE(calls->curves)) {
		curve = calloc(1, sizeof(*curve));
		if (!curve)
			return NULL;
		calls->curves[calls->curve_count++] = curve;
		curve->track = track;
		return curve;
	}
	/* A shell script starts many small processes before the large one. */
	for (uint32_t i = 0; i < calls->curve_count; i++)
		if (calls->curves[i]->track->name == track->name &&
		    calls->curves[i]->peak.value < peak) {
			curve = calls->curves[i];
			peak = curve->peak.value;
		}
	if (!curve)
		return NULL;
	calls->curves_refused += curve->count;
	*curve = (struct calls_curve){ .track = track };
	return curve;
}

static struct calls_curve *find_curve(struct calls *calls,
				      const struct trace_track *track)
{
	struct calls_curve *curve;

	for (uint32_t i = 0; i < calls->curve_count; i++)
		if (calls->curves[i]->track == track)
			return calls->curves[i];
	/* A curve that lost its place does not come back without its first
	 * points. */
	if (calls->curve_count == ARRAY_SIZE(calls->curves) &&
	    track->number < calls->curve_tracks)
		return NULL;
	curve = calls_curve_place(calls, track, UINT64_MAX);
	if (curve)
		calls->curve_tracks =
			MAX(calls->curve_tracks, track->number + 1);
	return curve;
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
	if (!calls_find_band(calls, event->track, &curve)) {
		curve = event->is_double || event->value < 0
				? NULL
				: find_curve(calls, event->track);
		calls->curves_refused += !curve;
	}
	if (curve && shown->before)
		put_first(curve, &point);
	else if (curve && event->ns >= curve->last.ns)
		add_point(curve, &point);
}

/* Puts [others] last. Drops all bands if it is missing, or if the curve belongs
 * to another process. */
static void finish_bands(struct calls *calls)
{
	uint32_t last = calls->band_count, at = last;
	struct calls_curve *others;

	while (at && strcmp(calls_curve_name(calls, calls->bands[at - 1]),
			    CALLS_OTHERS_NAME))
		at--;
	if (!at || !calls->curve ||
	    calls->bands[0]->track->parent != calls->curve->track->parent) {
		free_bands(calls);
		return;
	}
	others = calls->bands[at - 1];
	calls->bands[at - 1] = calls->bands[last - 1];
	calls->bands[last - 1] = others;
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
	finish_bands(calls);
}

/* --- the pass --- */

static void take_event(struct calls *calls, const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;

	switch (event->kind) {
	case TRACE_BEGIN:
		if (track_has_calls(event->track))
			begin_call(calls, shown);
		break;
	case TRACE_END:
		if (track_has_calls(event->track))
			end_call(calls, shown);
		else if (event->track->kind == TRACE_TRACK_WAITS &&
			 !event->track->suspends && !event->track->holds)
			take_ended_wait(calls, shown);
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

/* By an index: adds the times of events that were not read. */
static void widen_totals(struct calls *calls)
{
	struct trace_read_totals *totals = &calls->tree.totals;
	uint64_t first_ns, last_ns;

	trace_index_times(window_index(calls->tree.window), &first_ns,
			  &last_ns);
	if (first_ns && (!totals->first_ns || first_ns < totals->first_ns))
		totals->first_ns = first_ns;
	totals->last_ns = MAX(totals->last_ns, last_ns);
}

static int read_all(struct calls *calls, const char *path,
		    const struct calls_choice *choice)
{
	struct window_event shown;
	int err = 0;

	/* Fixes the bucket width early if the range is closed on both sides. */
	if (calls->range.from_ns && calls->range.to_ns != UINT64_MAX)
		time_cells_reach(&calls->cells, calls->range.from_ns,
				 calls->range.to_ns - 1);
	if (calls->summed)
		err = calls_index_add(calls, choice->folds);
	if (err)
		return err;
	while (call_tree_next(&calls->tree, &shown))
		take_event(calls, &shown);
	if (calls->by_index)
		widen_totals(calls);
	time_cells_sort(&calls->cells);
	timeline_finish(&calls->timeline);
	timeline_finish(&calls->waits);
	slowest_finish(&calls->slowest);
	finish_gaps(calls);
	err = calls->by_index ? calls_counters_add(calls, path, choice) : 0;
	finish_curves(calls);
	return err;
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

static int start(struct calls *calls, const char *path,
		 const struct calls_choice *choice,
		 const struct read_progress *progress)
{
	struct window_choice part = { .range = choice->range,
				      .thread = choice->thread,
				      .index = choice->index,
				      .calls_only = choice->index };
	int err;

	calls->range = choice->range;
	calls->by_index = choice->index;
	calls->summed =
		choice->index && count_calls(choice) > choice->few_calls;
	if (calls->summed)
		part.skips = PARTS_SKIP_DETAILED;
	time_cells_init(&calls->cells, CELLS_MAX);
	time_cells_init(&calls->gaps, GAP_CELLS_MAX);
	slowest_init(&calls->slowest);
	err = call_tree_open(&calls->tree, path, &part, progress,
			     sizeof(struct call_node), BUDGET_BYTES);
	if (!err)
		err = timeline_init(&calls->timeline, 1);
	return err ?: timeline_init(&calls->waits, WAITS_PART);
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
	err = start(calls, path, choice, progress);
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
	free_bands(self);
	time_cells_release(&self->cells);
	time_cells_release(&self->gaps);
	timeline_release(&self->timeline);
	timeline_release(&self->waits);
	for (uint32_t i = 0; i < self->instant_count; i++)
		free(self->instants[i].arguments);
	free(self->instants);
	slowest_release(&self->slowest);
	for (uint32_t i = 0; i < self->tree.thread_count; i++) {
		free(release_arguments(&self->tree.threads[i], 0));
		free(self->tree.threads[i].open);
	}
	free(self->stack_nodes);
	free(self->folded_to);
	call_tree_close(&self->tree);
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
		caller = call_tree_node(&calls->tree, caller)->parent;
	}
	return calls->folded_to[caller] ?: caller ?: number;
}

bool calls_find(const struct calls *calls, uint32_t parent, uint32_t name,
		uint32_t *out)
{
	const struct call_node item = { .parent = parent, .name = name };

	return pool_find(&calls->tree.nodes, &item, out);
}

bool calls_is_wait(const struct calls *calls, uint32_t number)
{
	uint32_t name = call_tree_node(&calls->tree, number)->name;

	return !strcmp(trace_reader_text(calls->tree.reader, name),
		       INDEX_WAIT_NAME);
}
