/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/call_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "shared/compiler.h"

/* Limit of buffered events: 72 MiB. */
#define HELD_MAX (1u << 20)
#define NO_ITEM UINT32_MAX

struct held {
	uint64_t ns, begin_ns, took_ns;
	const struct trace_track *track;
	struct call_arguments *arguments;
	uint32_t name, category, depth;
	uint32_t next; /* of its track, or in the free list */
	enum trace_event_kind kind;
	bool unfinished;
};

struct merge_track {
	uint32_t first, last; /* buffered events, or NO_ITEM */
	uint32_t depth; /* open calls in the output */
};

struct call_merge {
	struct call_reader *reader;
	struct held *held;
	uint32_t held_count, held_room; /* used so far; allocated */
	uint32_t free, in_use;
	struct merge_track *tracks; /* by track number */
	uint32_t track_room;
	/* Heap of the tracks with buffered events, earliest first. */
	uint32_t *heap;
	uint32_t heap_count, heap_room;
	struct call_arguments *given, *result_given; /* of the last event */
	uint64_t last_ns, late;
	bool ended;
	int result;
};

int call_merge_new(struct call_reader *reader, struct call_merge **out)
{
	struct call_merge *merge = calloc(1, sizeof(*merge));

	if (!merge)
		return -ENOMEM;
	merge->reader = reader;
	merge->free = NO_ITEM;
	*out = merge;
	return 0;
}

void call_merge_free(struct call_merge **merge_ptr)
{
	struct call_merge *merge = *merge_ptr;

	*merge_ptr = NULL;
	if (!merge)
		return;
	for (uint32_t i = 0; i < merge->held_count; i++)
		free(merge->held[i].arguments);
	free(merge->given);
	free(merge->result_given);
	free(merge->held);
	free(merge->tracks);
	free(merge->heap);
	free(merge);
}

/* --- the heap --- */

static bool is_earlier(const struct call_merge *merge, uint32_t a, uint32_t b)
{
	uint64_t a_ns = merge->held[merge->tracks[a].first].ns;
	uint64_t b_ns = merge->held[merge->tracks[b].first].ns;

	return a_ns < b_ns || (a_ns == b_ns && a < b);
}

static void swap_in_heap(struct call_merge *merge, uint32_t i, uint32_t j)
{
	uint32_t track = merge->heap[i];

	merge->heap[i] = merge->heap[j];
	merge->heap[j] = track;
}

static void sift_held_down(struct call_merge *merge)
{
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= merge->heap_count)
			return;
		if (child + 1 < merge->heap_count &&
		    is_earlier(merge, merge->heap[child + 1],
			       merge->heap[child]))
			child++;
		if (!is_earlier(merge, merge->heap[child], merge->heap[at]))
			return;
		swap_in_heap(merge, child, at);
		at = child;
	}
}

static int add_to_heap(struct call_merge *merge, uint32_t track)
{
	uint32_t at = merge->heap_count;

	if (grow_array(merge->heap, merge->heap_room, at + 1))
		return -ENOMEM;
	merge->heap[at] = track;
	merge->heap_count++;
	while (at &&
	       is_earlier(merge, merge->heap[at], merge->heap[(at - 1) / 2])) {
		swap_in_heap(merge, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
	return 0;
}

/* --- buffered events --- */

/* Returns the number of an unlinked item, or NO_ITEM without memory. */
static uint32_t new_item(struct call_merge *merge)
{
	uint32_t item = merge->free;

	if (item != NO_ITEM) {
		merge->free = merge->held[item].next;
		return item;
	}
	if (grow_array(merge->held, merge->held_room, merge->held_count + 1))
		return NO_ITEM;
	return merge->held_count++;
}

static struct merge_track *merge_track_of(struct call_merge *merge,
					  const struct trace_track *track)
{
	uint32_t room = merge->track_room;

	if (grow_array(merge->tracks, merge->track_room, track->number + 1))
		return NULL;
	for (uint32_t i = room; i < merge->track_room; i++)
		merge->tracks[i] = (struct merge_track){ .first = NO_ITEM,
							 .last = NO_ITEM };
	return &merge->tracks[track->number];
}

static int hold(struct call_merge *merge, struct call_event *event)
{
	struct merge_track *track = merge_track_of(merge, event->event.track);
	uint32_t item = track ? new_item(merge) : NO_ITEM;

	if (item == NO_ITEM)
		return -ENOMEM;
	merge->held[item] = (struct held){
		.ns = event->event.ns,
		.begin_ns = event->begin_ns,
		.took_ns = event->took_ns,
		.track = event->event.track,
		.name = event->event.name,
		.category = event->event.category,
		.depth = event->depth,
		.next = NO_ITEM,
		.kind = event->event.kind,
		.unfinished = event->event.unfinished,
	};
	merge->held[item].arguments =
		event->event.kind == TRACE_END
			? call_arguments_add_result(
				  NULL, call_reader_trace(merge->reader),
				  &event->event)
			: call_arguments_keep(merge->reader, event);
	merge->in_use++;
	if (track->last != NO_ITEM) {
		merge->held[track->last].next = item;
		track->last = item;
		return 0;
	}
	track->first = track->last = item;
	return add_to_heap(merge, event->event.track->number);
}

static bool is_event_shown(const struct call_event *event)
{
	enum trace_event_kind kind = event->event.kind;

	return event->event.track &&
	       (kind == TRACE_BEGIN || kind == TRACE_END ||
		kind == TRACE_INSTANT || kind == TRACE_STATE);
}

static int read_ahead(struct call_merge *merge)
{
	struct call_event event;

	while (!merge->ended && merge->in_use < HELD_MAX) {
		int got = call_reader_next(merge->reader, &event);

		if (got <= 0) {
			merge->ended = true;
			merge->result = got;
		} else if (is_event_shown(&event) && hold(merge, &event)) {
			return -ENOMEM;
		}
	}
	return 0;
}

static struct held take_first_held(struct call_merge *merge)
{
	struct merge_track *track = &merge->tracks[merge->heap[0]];
	uint32_t item = track->first;
	struct held held = merge->held[item];

	track->first = held.next;
	merge->held[item].arguments = NULL;
	merge->held[item].next = merge->free;
	merge->free = item;
	merge->in_use--;
	if (track->first != NO_ITEM)
		return held;
	track->last = NO_ITEM;
	return held;
}

static void give_merged_event(struct call_merge *merge,
			      struct merge_track *track,
			      const struct held *held, struct merged_event *out)
{
	merge->given = held->arguments;
	*out = (struct merged_event){
		.kind = held->kind,
		.unfinished = held->unfinished,
		.ns = held->ns,
		.begin_ns = held->begin_ns,
		.end_ns = held->ns,
		.took_ns = held->took_ns,
		.track = held->track,
		.name = held->name,
		.category = held->category,
		.depth = held->depth,
		.arguments = held->kind == TRACE_END ? NULL : held->arguments,
		.result = held->kind == TRACE_END ? held->arguments : NULL,
	};
	if (held->kind == TRACE_BEGIN)
		track->depth = held->depth + 1;
	else if (held->kind == TRACE_END)
		track->depth = held->depth;
	else
		out->depth = track->depth;
}

/* If the next event of the track ends the call that *@out begins, merges
 * both. */
static void take_leaf(struct call_merge *merge, struct merge_track *track,
		      struct merged_event *out)
{
	struct held end;

	if (out->kind != TRACE_BEGIN || track->first == NO_ITEM ||
	    merge->held[track->first].kind != TRACE_END)
		return;
	end = take_first_held(merge);
	track->depth = end.depth;
	out->leaf = true;
	out->unfinished = end.unfinished;
	out->begin_ns = end.begin_ns;
	out->end_ns = end.ns;
	out->took_ns = end.took_ns;
	out->result = merge->result_given = end.arguments;
}

int call_merge_next(struct call_merge *merge, struct merged_event *out)
{
	struct merge_track *track;
	struct held held;

	free(merge->given);
	free(merge->result_given);
	merge->given = merge->result_given = NULL;
	if (read_ahead(merge))
		return -ENOMEM;
	if (!merge->heap_count)
		return merge->result;
	track = &merge->tracks[merge->heap[0]];
	held = take_first_held(merge);
	merge->late += held.ns < merge->last_ns;
	merge->last_ns = MAX(merge->last_ns, held.ns);
	give_merged_event(merge, track, &held, out);
	take_leaf(merge, track, out);
	if (merge->tracks[merge->heap[0]].first == NO_ITEM)
		merge->heap[0] = merge->heap[--merge->heap_count];
	sift_held_down(merge);
	return 1;
}

uint64_t call_merge_late(const struct call_merge *merge)
{
	return merge->late;
}
