/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_durations - the trees of a thread have the number and the time of all
 * calls that have ended. Each function in them stores the part that was already
 * reported. Visiting all nodes takes time, so the pause lasts at least PAUSE
 * times as long.
 */
#include "collector/drain/thread_durations.h"

#include "collector/base/clock.h"
#include "collector/record/arena.h"
#include "collector/record/process.h"
#include "collector/record/thread_state.h"
#include "collector/replay/cct.h"
#include "collector/states/states.h"
#include "shared/compiler.h"

#define PAUSE 20
#define BATCH 64

struct telling {
	struct states *states;
	struct states_durations list[BATCH];
	size_t count;
};

static void tell_durations(struct telling *telling)
{
	states_add_durations(telling->states, telling->list, telling->count);
	telling->count = 0;
}

static void tell_stack(void *context, struct replay *replay)
{
	struct telling *telling = context;
	struct cct *tree = replay_tree(replay);

	for (struct cct_function *function = tree->functions; function;
	     function = function->next) {
		uint64_t calls = 0, ns = 0;

		for (const struct cct_node *node = function->nodes; node;
		     node = node->of_function) {
			calls += node->calls;
			ns += node->total_ns;
		}
		if (calls == function->told_calls)
			continue;
		telling->list[telling->count++] = (struct states_durations){
			.address = function->address,
			.ended = calls - function->told_calls,
			.ended_ns = ns - function->told_ns,
		};
		function->told_calls = calls;
		function->told_ns = ns;
		if (telling->count == BATCH)
			tell_durations(telling);
	}
}

void thread_durations(struct thread *thread)
{
	struct telling telling = {
		.states = thread->setup->arena_setup->states,
	};
	uint64_t begin, took;

	if (!states_want_durations(telling.states))
		return;
	begin = clock_boottime_ns();
	if (begin < thread->durations_ns)
		return;
	fibers_each(&thread->fibers, tell_stack, &telling);
	if (telling.count)
		tell_durations(&telling);
	took = clock_boottime_ns() - begin;
	thread->durations_ns =
		begin + MAX((uint64_t)STATES_DURATIONS_NS, took * PAUSE);
}
