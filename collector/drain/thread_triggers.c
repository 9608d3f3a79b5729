/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that does not end is the slowest of all. So a call fires once when it
 * has been open for HANG_NS more than its bound. It fires again at its end,
 * with its full duration. Without HANG_NS, calls that are only slightly late
 * would fire twice with nearly the same duration.
 */
#include "collector/drain/thread_triggers.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/clock.h"
#include "collector/drain/call_watches.h"
#include "collector/record/arena.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/thread_state.h"
#include "collector/record/triggers.h"
#include "collector/replay/cct.h"
#include "collector/replay/replay.h"
#include "shared/compiler.h"

#define HANG_NS 1000000000
#define LOOK_NS 100000000
#define OPEN_MAX 4096 /* open calls per look */
#define TOLD_MAX 8 /* open calls that have fired */
/* As in thread.c: records of the program may be this much older than our clock.
 */
#define CLOCK_SLACK_NS 10000000

struct thread_triggers {
	struct call_watches *watches;
	uint32_t version; /* of the bounds in the trees */
	uint32_t told_count;
	uint64_t look_ns; /* the next look at open calls */
	/* Begin times of open calls that have fired. */
	uint64_t told[TOLD_MAX];
};

static struct triggers *triggers_of_thread(const struct thread *thread)
{
	return recording_setup(thread->setup->arena_setup->recording)->triggers;
}

bool thread_triggers_need_names(const struct thread *thread)
{
	return triggers_of_calls(triggers_of_thread(thread));
}

static uint64_t tell_bound(void *context, uint64_t function)
{
	struct thread *thread = context;

	return call_watches_slow_ns(thread->triggers->watches, function,
				    replay_tree(thread->replay)->generation);
}

static bool fire_call(struct thread *thread,
		      const struct cct_function *function, uint64_t begin_ns,
		      uint64_t end_ns, uint64_t took_ns, uint8_t held)
{
	struct trigger_call call = {
		.held = held,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.took_ns = took_ns,
		.pid = thread->setup->pid,
		.tid = thread->entry.tid,
	};

	return call_watches_fire(thread->triggers->watches, function, &call);
}

static void take_slow(void *context, const struct cct_node *node,
		      uint64_t begin_ns, uint64_t end_ns, uint64_t took_ns,
		      uint8_t held)
{
	fire_call(context, node->function, begin_ns, end_ns, took_ns, held);
}

void thread_triggers_begin(struct thread *thread, uint32_t worker,
			   struct replay_sink *sink)
{
	struct call_watches *watches = call_watches_of(thread->process, worker);

	if (!watches)
		return;
	thread->triggers = calloc(1, sizeof(*thread->triggers));
	if (!thread->triggers)
		return;
	thread->triggers->watches = watches;
	sink->slow_ns = tell_bound;
	sink->slow = take_slow;
}

/* --- bounds that change -------------------------------------------------- */

static void set_bounds(void *context, struct replay *replay)
{
	call_watches_set(context, replay_tree(replay));
}

/* --- calls that do not end ----------------------------------------------- */

struct look {
	struct thread *thread;
	uint64_t ns;
	uint64_t told[TOLD_MAX]; /* that have fired and are still open */
	uint32_t count;
};

static bool was_told(const struct thread_triggers *own, uint64_t begin_ns)
{
	for (uint32_t i = 0; i < own->told_count; i++)
		if (own->told[i] == begin_ns)
			return true;
	return false;
}

static void look_at_call(void *context, const struct cct_node *node,
			 uint64_t begin_ns, uint64_t waited_ns, uint8_t held)
{
	struct look *look = context;
	uint64_t slow_ns = node->function->slow_ns, took_ns;

	if (slow_ns > INT64_MAX || look->ns < begin_ns ||
	    look->ns - begin_ns < waited_ns || look->count == TOLD_MAX)
		return;
	took_ns = look->ns - begin_ns - waited_ns;
	if (took_ns < slow_ns + HANG_NS)
		return;
	if (was_told(look->thread->triggers, begin_ns) ||
	    fire_call(look->thread, node->function, begin_ns, look->ns, took_ns,
		      held))
		look->told[look->count++] = begin_ns;
}

void thread_triggers_visit(struct thread *thread, uint64_t ns, bool quiet)
{
	struct thread_triggers *own = thread->triggers;
	uint64_t last_ns;
	uint64_t before;
	uint32_t version;
	struct look look;

	triggers_flush(triggers_of_thread(thread), ns);
	if (!own)
		return;
	before = clock_boottime_ns();
	version = call_watches_look(own->watches, ns);
	if (version != own->version) {
		fibers_each(&thread->fibers, set_bounds, own->watches);
		own->version = version;
		call_watches_took(own->watches, clock_boottime_ns() - before);
	}
	if (ns < own->look_ns)
		return;
	own->look_ns = ns + LOOK_NS;
	last_ns = replay_last_ns(fibers_current(&thread->fibers));
	look = (struct look){ .thread = thread,
			      .ns = (quiet ? MAX(last_ns, ns - CLOCK_SLACK_NS)
					   : last_ns) };
	replay_each_open(fibers_current(&thread->fibers), OPEN_MAX,
			 look_at_call, &look);
	memcpy(own->told, look.told, sizeof(own->told));
	own->told_count = look.count;
}

void thread_triggers_finish(struct thread *thread)
{
	triggers_flush(triggers_of_thread(thread), UINT64_MAX);
	free(thread->triggers);
	thread->triggers = NULL;
}
