/* SPDX-License-Identifier: Apache-2.0
 *
 * states_visit - the work of the thread perfrec-states in one visit of an
 * arena.
 */
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/states/states_inner.h"
#include "shared/compiler.h"

/* Interval of visits while functions drain or wait for other threads. */
#define SOON_NS 5000000
#define HELD_NS 1000000

/* First restores the text of all known processes, then of children forked
 * meanwhile. A child forked later has a restored parent. */
static void end_text(struct states *states)
{
	if (!states->ending) {
		states->ending = true;
		if (states->patched)
			states_follow_processes(states);
		states_remember(states);
		states_restore_text(states);
		states->searching = states->patched;
	}
	/* A process with a changed text also has the arena mapped. */
	if (states->searching && arena_is_held(states->arena))
		states_search(states);
	states->searching = false;
	states_restore_late(states);
	lock_acquire(&states->lock);
	states->restored = true;
	states->answered = states->asked;
	lock_release(&states->lock);
}

/* Lets a held program go on. */
static void release_program(struct states *states)
{
	void (*ready)(struct arena * arena);

	lock_acquire(&states->lock);
	ready = states->ready;
	states->ready = NULL;
	if (ready)
		states->held_ns += clock_boottime_ns() - states->ready_asked_ns;
	lock_release(&states->lock);
	states->hold_ns = 0;
	if (ready)
		ready(states->arena);
}

static bool is_start_held(struct states *states)
{
	bool held;

	lock_acquire(&states->lock);
	held = states->ready;
	lock_release(&states->lock);
	if (held && !states->hold_ns)
		states->hold_ns = clock_boottime_ns() + STATES_HOLD_NS;
	return held;
}

/* Marks requests up to @number as done. */
static void answer_visit(struct states *states, uint64_t number)
{
	uint64_t one = 1;
	bool news;

	lock_acquire(&states->lock);
	news = states->answered < number;
	states->answered = number;
	lock_release(&states->lock);
	if (news)
		(void)!write(states->thread->collector->done_fd, &one,
			     sizeof(one));
}

/* Plans, connects and changes functions. Returns true if all is done. */
static bool work_on_states(struct states *states, uint64_t until_ns, bool held)
{
	uint64_t asked;
	bool planned, done;

	lock_acquire(&states->lock);
	asked = states->asked;
	/* Once for each request: impossible changes are not wanted any more. */
	if (asked > states->evaluated_for)
		states->evaluated = false;
	states->evaluated_for = asked;
	lock_release(&states->lock);
	if (!states_have_leader(states)) {
		/* All processes have ended, or the only one is an unknown
		 * child. */
		answer_visit(states, asked);
		return true;
	}
	states_end_openings(states);
	states_follow_modules(states);
	planned = states_plan_modules(states, until_ns);
	if (!planned &&
	    !(states_opening_now(states) && states_opening_is_planned(states)))
		return false;
	if (!states->evaluated)
		states_evaluate(states);
	done = states_take_steps(states, until_ns, held) && planned;
	if (done)
		answer_visit(states, asked);
	return done;
}

uint64_t states_visit(struct states *states)
{
	uint64_t now = clock_boottime_ns(), wait = UINT64_MAX;
	bool ending, wanted, held, done;

	lock_acquire(&states->lock);
	ending = states->wants_restore;
	wanted = states->wants_plans;
	lock_release(&states->lock);
	if (ending) {
		release_program(states);
		end_text(states);
		return UINT64_MAX;
	}
	if (!wanted || states->ending)
		return UINT64_MAX;
	held = is_start_held(states);
	states_follow_processes(states);
	states_keep_on(states);
	if (held)
		states_make_gate(states);
	done = work_on_states(states, now + VISIT_NS,
			      held && !arena_setup(states->arena)->late);
	if (held && (done || clock_boottime_ns() >= states->hold_ns))
		release_program(states);
	states_tell_late(states);
	if (!held || done)
		wait = states_steer(states);
	wait = MIN(wait, states_follow_pause(states));
	/* Another thread makes the plans, so yield. */
	if (!done)
		wait = MIN(wait, held || states_opening_now(states)
					 ? (uint64_t)HELD_NS
					 : (uint64_t)SOON_NS);
	/* Not all loads of modules are reported. */
	return MIN(wait, (uint64_t)100000000);
}
