/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_events - a list of chunks, so appending and taking are independent of
 * the length. One empty chunk is kept in reserve, because most queues alternate
 * between a few events and none.
 */
#include "collector/replay/kernel_events.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "shared/compiler.h"

#define CHUNK_EVENTS 170u
/* Lifetime of events before the thread's drain worker fetches its first events.
 * The worker visits all threads many times a second, but may lack a CPU. */
#define UNASKED_NS 2000000000u

struct kernel_chunk {
	struct kernel_chunk *next;
	uint32_t count;
	struct kernel_event event[CHUNK_EVENTS];
};

void kernel_events_init(struct kernel_events *events, struct budget *budget)
{
	*events = (struct kernel_events){ .budget = budget };
}

static void free_chunk(struct kernel_events *events, struct kernel_chunk *chunk)
{
	budget_give(events->budget, sizeof(*chunk));
	free(chunk);
}

static void drop_first(struct kernel_events *events)
{
	struct kernel_chunk *first = events->first;

	events->first = first->next;
	if (!events->first)
		events->last = NULL;
	events->head = 0;
	if (events->spare)
		free_chunk(events, first);
	else
		events->spare = first;
}

void kernel_events_release(struct kernel_events *events)
{
	while (events->first)
		drop_first(events);
	if (events->spare)
		free_chunk(events, events->spare);
	events->spare = NULL;
	events->count = 0;
}

static struct kernel_chunk *take_free_chunk(struct kernel_events *events)
{
	struct kernel_chunk *chunk = events->spare;

	events->spare = NULL;
	if (chunk)
		return chunk;
	if (!budget_take(events->budget, sizeof(*chunk)))
		return NULL;
	chunk = malloc(sizeof(*chunk));
	if (!chunk)
		budget_give(events->budget, sizeof(*chunk));
	return chunk;
}

static bool add_event_chunk(struct kernel_events *events)
{
	struct kernel_chunk *chunk;

	if (events->count >= KERNEL_EVENTS_MAX)
		return false;
	chunk = take_free_chunk(events);
	if (!chunk)
		return false;
	chunk->next = NULL;
	chunk->count = 0;
	if (events->last)
		events->last->next = chunk;
	else
		events->first = chunk;
	events->last = chunk;
	return true;
}

static void fold_first(struct kernel_events *events)
{
	const struct kernel_chunk *first = events->first;

	for (uint32_t i = events->head; i < first->count; i++) {
		(void)sched_track_apply(&events->before, &first->event[i]);
		events->count--;
	}
	drop_first(events);
}

/* Returns true if the oldest chunk is full and too old at @ns. */
static bool first_is_old(const struct kernel_events *events, uint64_t ns)
{
	const struct kernel_chunk *first = events->first;

	return !events->wanted && first && first->count == CHUNK_EVENTS &&
	       ns - MIN(ns, first->event[CHUNK_EVENTS - 1].ns) > UNASKED_NS;
}

static bool append_event(struct kernel_events *events,
			 const struct kernel_event *event)
{
	if (first_is_old(events, event->ns))
		fold_first(events);
	if ((!events->last || events->last->count == CHUNK_EVENTS) &&
	    !add_event_chunk(events)) {
		if (events->wanted || !events->first ||
		    events->count >= KERNEL_EVENTS_MAX)
			return false;
		fold_first(events);
		if (!add_event_chunk(events))
			return false;
	}
	events->last->event[events->last->count++] = *event;
	events->count++;
	return true;
}

static struct kernel_event unknown_from(const struct kernel_events *events)
{
	return (struct kernel_event){ .ns = events->full_ns,
				      .kind = KERNEL_UNKNOWN };
}

void kernel_events_push(struct kernel_events *events,
			const struct kernel_event *event)
{
	struct kernel_event one = *event;

	if (events->unwanted)
		return;
	one.ns = MAX(one.ns, events->last_ns);
	if (unlikely(events->full)) {
		const struct kernel_event unknown = unknown_from(events);

		events->full = !append_event(events, &unknown);
	}
	if (unlikely(events->full || !append_event(events, &one))) {
		if (!events->full)
			events->full_ns = one.ns;
		events->full = true;
		return;
	}
	events->last_ns = one.ns;
}

size_t kernel_events_take(struct kernel_events *events,
			  struct kernel_event *out, size_t room,
			  struct sched_track *before)
{
	size_t taken = 0;

	if (!events->wanted)
		*before = events->before;
	events->wanted = true;
	while (taken < room && events->count) {
		const struct kernel_chunk *first = events->first;
		size_t part = MIN((size_t)(first->count - events->head),
				  room - taken);

		memcpy(out + taken, first->event + events->head,
		       part * sizeof(*out));
		taken += part;
		events->head += (uint32_t)part;
		events->count -= (uint32_t)part;
		if (events->head == first->count)
			drop_first(events);
	}
	/* The gap must be reported here: a later event, which would report it,
	 * may never come. */
	if (events->full && taken < room) {
		out[taken++] = unknown_from(events);
		events->full = false;
	}
	return taken;
}

struct sched_track kernel_events_sum(const struct kernel_events *events)
{
	struct sched_track track = events->before;
	uint32_t from = events->head;

	for (const struct kernel_chunk *chunk = events->first; chunk;
	     chunk = chunk->next) {
		for (uint32_t i = from; i < chunk->count; i++)
			(void)sched_track_apply(&track, &chunk->event[i]);
		from = 0;
	}
	return track;
}

void kernel_events_unwant(struct kernel_events *events)
{
	kernel_events_release(events);
	events->unwanted = true;
}
