/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_history - a point costs at least one look at every site. So the next one
 * waits COST_PART times as long as this one took. When all points are in use,
 * every second one goes, and the distance doubles.
 *
 * A place that is not among the HISTORY_TOP largest at a moment has less than
 * 1/HISTORY_TOP of the bytes; there it counts among the others.
 */
#include "collector/heap/heap_history.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/heap/heap.h"

#define FIRST_STEP_NS 10000000
#define COST_PART 100
#define NO_PLACE UINT32_MAX

void heap_history_init(struct heap_history *history, struct budget *budget)
{
	*history = (struct heap_history){ .budget = budget,
					  .step_ns = FIRST_STEP_NS };
	pool_init(&history->places, budget, sizeof(struct history_place),
		  sizeof(struct history_place));
}

void heap_history_release(struct heap_history *history)
{
	if (!history->budget)
		return;
	budget_give(history->budget,
		    history->site_room * sizeof(*history->place_of) +
			    history->byte_room * sizeof(*history->bytes) +
			    history->room * sizeof(*history->points));
	free(history->place_of);
	free(history->bytes);
	free(history->points);
	pool_release(&history->places);
	*history = (struct heap_history){ 0 };
}

/* Returns the number of the place that allocated by @stack, or NO_PLACE without
 * a function or memory. */
static uint32_t place_of_stack(struct heap_history *history,
			       struct stacks *stacks, uint32_t stack)
{
	struct history_place place = { .frame[0] =
					       stacks_frame(stacks, stack) };
	struct stack_frame caller;
	uint32_t number;

	if (!place.frame[0].address || place.frame[0].kind > FRAME_RETURN)
		return NO_PLACE;
	if (place.frame[0].kind != FRAME_ENTRY) {
		caller = stacks_frame(stacks, stacks_parent(stacks, stack));
		if (caller.kind == FRAME_RETURN)
			place.frame[1] = caller;
	}
	return pool_intern(&history->places, &place, &number) < 0 ? NO_PLACE
								  : number;
}

/* Sums up the bytes in use by place. Returns false without memory. */
static bool sum_places(struct heap_history *history, struct heap *heap,
		       struct stacks *stacks)
{
	uint32_t sites = heap_site_count(heap);

	if (grow_array_from(history->budget, history->place_of,
			    history->site_room, sites))
		return false;
	for (; history->sites < sites; history->sites++)
		history->place_of[history->sites] = place_of_stack(
			history, stacks,
			heap_get_site(heap, history->sites)->stack);
	if (grow_array_from(history->budget, history->bytes, history->byte_room,
			    history->places.count + 1))
		return false;
	memset(history->bytes, 0,
	       history->places.count * sizeof(*history->bytes));
	for (uint32_t i = 0; i < sites; i++)
		if (history->place_of[i] != NO_PLACE)
			history->bytes[history->place_of[i]] +=
				heap_get_site(heap, i)->now.inuse_bytes;
	return true;
}

static void fill_point(const struct heap_history *history,
		       struct history_point *point)
{
	uint32_t least = 0;

	for (uint32_t i = 0; i < history->places.count; i++) {
		uint64_t bytes = history->bytes[i];
		uint32_t at = point->count;

		if (!bytes)
			continue;
		if (at < HISTORY_TOP)
			point->count++;
		else if (bytes > point->bytes[least])
			at = least;
		else
			continue;
		point->place[at] = i;
		point->bytes[at] = bytes;
		for (uint32_t j = least = 0; j < point->count; j++)
			if (point->bytes[j] < point->bytes[least])
				least = j;
	}
}

static void halve_history(struct heap_history *history)
{
	for (uint32_t i = 0; 2 * i < history->count; i++)
		history->points[i] = history->points[2 * i];
	history->count = (history->count + 1) / 2;
	history->step_ns *= 2;
}

void heap_history_take(struct heap_history *history, struct heap *heap,
		       struct stacks *stacks, uint64_t ns)
{
	struct history_point *point;

	if (history->count && history->points[history->count - 1].ns == ns)
		history->count--;
	if (history->count == HISTORY_POINTS)
		halve_history(history);
	if (!grow_array_from(history->budget, history->points, history->room,
			     history->count + 1) &&
	    sum_places(history, heap, stacks)) {
		point = &history->points[history->count++];
		*point = (struct history_point){
			.ns = ns, .total = heap->totals.now.inuse_bytes
		};
		fill_point(history, point);
	}
	history->next_ns = ns + history->step_ns;
}

void heap_history_delay(struct heap_history *history, uint64_t cost_ns)
{
	history->next_ns += COST_PART * cost_ns;
}
