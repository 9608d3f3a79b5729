/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/exact_calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/replay/fibers.h"
#include "collector/replay/function_log.h"
#include "collector/replay/replay_inner.h"
#include "collector/replay/scale_calls.h"

struct place {
	size_t exact;
	struct cct_node *node;
	uint64_t calls;
};

struct search {
	const struct exact_calls *exact;
	size_t count;
	uint64_t *before; /* of each function: calls that neither thunk nor gate
			   * counted */
	bool *excluded;
	struct place *place;
	uint64_t *calls;
	size_t places, room;
	bool failed;
};

static int by_address(const void *a, const void *b)
{
	const struct exact_calls *one = a, *other = b;

	if (one->address != other->address)
		return one->address < other->address ? -1 : 1;
	return (one->generation > other->generation) -
	       (one->generation < other->generation);
}

static int by_exact(const void *a, const void *b)
{
	const struct place *one = a, *other = b;

	return (one->exact > other->exact) - (one->exact < other->exact);
}

/* Returns the index of @function in @search->exact: the latest load that is not
 * younger, or else the first younger one. Returns search->count if there is
 * none. */
static size_t find_exact(const struct search *search,
			 const struct cct_function *function)
{
	const struct exact_calls *exact = search->exact;
	size_t low = search_first(
		i, search->count,
		exact[i].address == function->address
			? exact[i].generation > function->generation
			: exact[i].address > function->address);

	if (low && exact[low - 1].address == function->address)
		return low - 1;
	return low < search->count && exact[low].address == function->address
		       ? low
		       : search->count;
}

static void add_place(struct search *search, size_t exact,
		      struct cct_node *node)
{
	node->unrecorded = 0;
	if (grow_array(search->place, search->room, search->places + 1)) {
		search->failed = true;
		return;
	}
	/* By this index search_stack() finds the places of open calls. */
	node->index = (uint32_t)search->places;
	search->place[search->places++] =
		(struct place){ exact, node, node->calls };
}

/* Returns true if @function was connected after the last record of @replay,
 * which thus does not know it. */
static bool is_just_connected(const struct replay *replay,
			      const struct cct_function *function)
{
	return replay->log && !function->connected &&
	       function->nodes->address != CCT_RETIRED &&
	       function_log_state(replay->log, function->address, UINT64_MAX)
		       .connected;
}

static void search_stack(void *context, struct replay *replay)
{
	struct search *search = context;
	const size_t first = search->places;

	for (struct cct_function *function = replay->cct.functions; function;
	     function = function->next) {
		size_t exact = find_exact(search, function);

		if (exact == search->count)
			continue;
		search->before[exact] += search->exact[exact].apart
						 ? function->late_calls
						 : function->calls_before;
		search->excluded[exact] |= function->excluded;
		for (struct cct_node *node = function->nodes; node;
		     node = node->of_function)
			add_place(search, exact, node);
	}
	for (struct replay_frame *frame = replay->stack + 1;
	     frame <= replay->top; frame++) {
		struct cct_node *node = frame->node;

		if (!replay_is_phantom(frame) && !frame->cut &&
		    node->index < search->places &&
		    search->place[node->index].node == node)
			search->place[node->index].calls++;
	}
	/* function_log_state() relies on this look at the count. */
	if (replay->log)
		(void)function_log_changes(replay->log);
	for (size_t i = first; i < search->places; i++) {
		const struct place *place = &search->place[i];

		if (is_just_connected(replay, place->node->function))
			search->before[place->exact] += place->calls;
	}
	for (size_t i = 0; i < search->places; i++)
		search->place[i].node->index = 0;
}

/* No call of @exact was recorded, so @cct does not have this function yet. A
 * live function at its address belongs to another load of a module. */
static void set_unknown_callers(struct cct *cct,
				const struct exact_calls *exact, uint64_t calls)
{
	struct cct_node *above = cct_child(cct, cct->root, CCT_UNKNOWN_CALLERS);
	const uint64_t address = exact->address;
	const uint32_t generation = cct->generation;
	bool other = cct_find_function(cct, address);

	if (other)
		cct_retire(cct, address, address + 1);
	cct->generation = exact->generation;
	cct_child(cct, above, address)->unrecorded = calls;
	cct->generation = generation;
	/* The next call there belongs to another function, unless this one is
	 * the newest. */
	if (other || exact->generation != generation)
		cct_retire(cct, address, address + 1);
}

/* Sets the unrecorded calls of function @exact, whose places are the first of
 * the @count at @place. Returns their number. */
static size_t set_function(struct search *search, struct fibers *fibers,
			   size_t exact, const struct place *place,
			   size_t count)
{
	bool apart = search->exact[exact].apart;
	uint64_t total = search->exact[exact].calls + search->before[exact];
	uint64_t unknown;
	size_t places = 0;

	for (; places < count && place[places].exact == exact; places++) {
		search->calls[places] = place[places].calls;
		if (apart)
			total += place[places].calls;
	}
	if (search->excluded[exact])
		return places;
	if (scale_calls(search->calls, places, total, &unknown) < 0) {
		search->failed = true;
		return places;
	}
	for (size_t i = 0; i < places; i++)
		place[i].node->unrecorded = search->calls[i] - place[i].calls;
	if (unknown)
		set_unknown_callers(&fibers->fiber[0].replay->cct,
				    &search->exact[exact], unknown);
	return places;
}

int exact_calls_set(struct fibers *fibers, struct exact_calls *exact,
		    size_t count)
{
	struct search search = {
		.exact = exact,
		.count = count,
		.before = calloc(count + 1, sizeof(*search.before)),
		.excluded = calloc(count + 1, sizeof(*search.excluded)),
	};
	size_t at = 0;

	qsort(exact, count, sizeof(*exact), by_address);
	if (search.before && search.excluded)
		fibers_each(fibers, search_stack, &search);
	search.calls = calloc(search.places + 1, sizeof(*search.calls));
	if (!search.before || !search.excluded || !search.calls) {
		search.failed = true;
		count = 0;
	}
	if (count && search.places)
		qsort(search.place, search.places, sizeof(*search.place),
		      by_exact);
	for (size_t i = 0; i < count; i++)
		at += set_function(&search, fibers, i,
				   at ? search.place + at : search.place,
				   search.places - at);
	free(search.before);
	free(search.excluded);
	free(search.place);
	free(search.calls);
	return search.failed ? -ENOMEM : 0;
}
