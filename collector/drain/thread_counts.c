/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/thread_counts.h"

#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/record/thread_state.h"
#include "collector/replay/cct.h"
#include "collector/replay/scale_calls.h"
#include "collector/states/states.h"

/* A node of the function of thread->counted[counted]. */
struct spread_node {
	size_t counted;
	struct cct_node *node;
};

struct spread {
	const struct thread *thread;
	struct spread_node *nodes;
	size_t count, room;
};

/* The first of the entries at @address, at or before @generation the latest;
 * SIZE_MAX: there is none. */
static size_t find_counted(const struct thread *thread, uint64_t address,
			   uint32_t generation)
{
	size_t low = 0, high = thread->counted_count, found = SIZE_MAX;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->counted[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < thread->counted_count &&
	       thread->counted[low].address == address;
	     low++)
		if (found == SIZE_MAX ||
		    thread->counted[low].generation <= generation)
			found = low;
	return found;
}

static void gather_nodes(void *context, struct replay *replay)
{
	struct spread *spread = context;

	for (const struct cct_function *function =
		     replay_tree(replay)->functions;
	     function; function = function->next) {
		size_t counted = find_counted(spread->thread, function->address,
					      function->generation);

		if (counted == SIZE_MAX)
			continue;
		spread->thread->counted[counted].calls +=
			function->calls_before;
		for (struct cct_node *node = function->nodes; node;
		     node = node->of_function)
			if (grow_array(spread->nodes, spread->room,
				       spread->count + 1) == 0)
				spread->nodes[spread->count++] =
					(struct spread_node){ counted, node };
	}
}

static int by_counted(const void *a, const void *b)
{
	const struct spread_node *one = a, *other = b;

	return one->counted < other->counted ? -1
					     : one->counted > other->counted;
}

/* Spread @exact calls over the @count nodes of one function. */
static void spread_calls(struct spread_node *nodes, size_t count,
			 uint64_t exact, uint64_t *unknown)
{
	uint64_t *calls = calloc(count + 1, sizeof(*calls));

	*unknown = exact;
	for (size_t i = 0; calls && i < count; i++)
		calls[i] = nodes[i].node->calls;
	if (calls && scale_calls(calls, count, exact, unknown) == 0)
		for (size_t i = 0; i < count; i++)
			nodes[i].node->unrecorded =
				calls[i] - nodes[i].node->calls;
	free(calls);
}

void thread_counts_spread(struct thread *thread)
{
	struct spread spread = { .thread = thread };
	struct cct *tree = replay_tree(thread->replay);
	size_t at = 0, end;
	uint64_t unknown;

	if (!thread->counted_count)
		return;
	fibers_each(&thread->fibers, gather_nodes, &spread);
	if (spread.count)
		qsort(spread.nodes, spread.count, sizeof(*spread.nodes),
		      by_counted);
	for (size_t i = 0; i < thread->counted_count; i++) {
		for (end = at;
		     end < spread.count && spread.nodes[end].counted == i;)
			end++;
		spread_calls(spread.nodes + at, end - at,
			     thread->counted[i].calls, &unknown);
		if (unknown)
			cct_child(tree, tree->root, thread->counted[i].address)
				->unrecorded += unknown;
		at = end;
	}
	free(spread.nodes);
}
