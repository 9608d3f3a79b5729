/* SPDX-License-Identifier: Apache-2.0
 *
 * states_thread - the threads perfrec-states, one for each arena with requests,
 * so that a program that blocks its thread harms no other. Each visits its
 * arena and sleeps until a request or the next tick.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/log.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/states/states_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

/* The longest sleep, because not all loads of modules are reported. */
#define SLEEP_NS 100000000
/* Most time that an ending arena may block its thread, in total. Only waits
 * longer than USUAL_NS count; each process of a normal program takes less. */
#define END_NS (4 * (uint64_t)STATES_AWAY_NS)
#define USUAL_NS 250000000
/* Interval of the main thread's checks for the last threads. */
#define LOOK_MS 100

static void signal_event(int event)
{
	uint64_t one = 1;

	if (event >= 0)
		(void)!write(event, &one, sizeof(one));
}

static void wait_event(int event, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = event, .events = POLLIN };
	uint64_t count;

	if (poll(&poll_fd, 1, timeout_ms) > 0)
		(void)!read(event, &count, sizeof(count));
}

void states_wake(struct states *states)
{
	int event;

	lock_acquire(&states->lock);
	event = states->event;
	lock_release(&states->lock);
	/* The event stays open until @states is freed. */
	signal_event(event);
}

/* --- going away ---------------------------------------------------------- */

/* The last call of a thread. */
static void end_states_thread(struct states_thread *thread, bool given_up)
{
	lock_acquire(&thread->lock);
	thread->running--;
	thread->given_up -= given_up;
	signal_event(thread->event);
	lock_release(&thread->lock);
}

/* Returns the length of the present absence, without the usual time. Under the
 * lock. */
static uint64_t count_slow(const struct states *states, uint64_t now)
{
	uint64_t ns = states->away_ns ? now - states->away_ns : 0;

	return ns > USUAL_NS ? ns - USUAL_NS : 0;
}

/* Under the lock. */
static void set_away(struct states *states, uint64_t now, bool away)
{
	if (states->end_ns)
		states->slow_ns += count_slow(states, now);
	states->away_ns = away ? now : 0;
}

void states_go_away(struct states *states)
{
	lock_acquire(&states->lock);
	set_away(states, clock_boottime_ns(), true);
	lock_release(&states->lock);
}

void *states_calloc(struct states *states, size_t count, size_t size)
{
	void *memory = calloc(count, size);

	for (size_t i = 0; memory && i < ARRAY_SIZE(states->held); i++)
		if (!states->held[i]) {
			states->held[i] = memory;
			break;
		}
	return memory;
}

void states_free(struct states *states, void *memory)
{
	for (size_t i = 0; memory && i < ARRAY_SIZE(states->held); i++)
		if (states->held[i] == memory)
			states->held[i] = NULL;
	free(memory);
}

void states_come_back(struct states *states)
{
	struct states_thread *thread = states->thread;
	bool given_up;

	lock_acquire(&states->lock);
	given_up = states->given_up;
	set_away(states, clock_boottime_ns(), false);
	lock_release(&states->lock);
	if (!given_up)
		return;
	/* The arena is gone, and the list has no @states any more. */
	if (states->making) {
		lock_acquire(&thread->lock);
		states->making->busy_ns = 0;
		lock_release(&thread->lock);
	}
	for (size_t i = 0; i < ARRAY_SIZE(states->held); i++)
		states_free(states, states->held[i]);
	states_processes_free(states);
	states_plans_put(states);
	states_put(&states);
	end_states_thread(thread, true);
	pthread_exit(NULL);
}

bool states_are_stuck(const struct states *states)
{
	uint64_t now = clock_boottime_ns();

	return states->away_ns &&
	       (now - states->away_ns > STATES_AWAY_NS ||
		(states->end_ns && !states->restored &&
		 states->slow_ns + count_slow(states, now) > END_NS));
}

/* --- the end of an arena ------------------------------------------------- */

/* Under the lock of all arenas. */
static void take_out_states(struct states *states)
{
	struct states **link = &states->thread->first;

	while (*link != states)
		link = &(*link)->next;
	*link = states->next;
}

void states_unlist(struct states *states)
{
	struct states_thread *thread = states->thread;
	struct states *listed = states;

	lock_acquire(&thread->lock);
	take_out_states(states);
	lock_release(&thread->lock);
	states_processes_free(states);
	/* Children forked from now on have clean text. relaxed: a late message
	 * of a child is not read by anybody */
	atom_store_rlx(&arena_setup(states->arena)->page->patched, 0);
	states_plans_put(states);
	arena_put(&states->arena);
	states_put(&listed);
}

static bool is_restored(struct states *states)
{
	bool restored;

	lock_acquire(&states->lock);
	restored = states->restored;
	lock_release(&states->lock);
	return restored;
}

static bool is_states_finished(struct states *states)
{
	bool finished;

	lock_acquire(&states->lock);
	finished = states->restored && states->wants_end;
	lock_release(&states->lock);
	return finished;
}

/* Gives up the thread of an ended @states. Returns true if so; then the caller
 * owns *@arena, and the thread may free @states at once. Under the lock of all
 * arenas. */
static bool give_up_on_arena(struct states *states, struct arena **arena)
{
	bool given_up;

	lock_acquire(&states->lock);
	/* Also if the text is restored: a late child may block the thread. */
	given_up = states->wants_end && states_are_stuck(states);
	if (given_up) {
		take_out_states(states);
		states->thread->given_up++;
		*arena = states->arena;
		states->arena = NULL;
		states->given_up = true;
	}
	lock_release(&states->lock);
	return given_up;
}

/* Returns the arena, with its reference, of an ended and stuck thread, or
 * NULL. */
static struct arena *take_stuck(struct states_thread *thread)
{
	struct arena *arena = NULL;
	struct states *states;

	lock_acquire(&thread->lock);
	states = thread->first;
	while (states && !give_up_on_arena(states, &arena))
		states = states->next;
	lock_release(&thread->lock);
	return arena;
}

/* The data of the threads stays: they may still come back. */
static void give_up_stuck(struct states_thread *thread)
{
	struct arena *arena;

	while ((arena = take_stuck(thread))) {
		log_warn("cannot restore the functions of a program: %s; some "
			 "may still be off, or call hooks",
			 STATES_STUCK);
		arena_put(&arena);
	}
}

bool states_are_ending(struct states_thread *thread)
{
	bool ending = false;

	if (!thread)
		return false;
	give_up_stuck(thread);
	lock_acquire(&thread->lock);
	for (struct states *states = thread->first; states && !ending;
	     states = states->next) {
		lock_acquire(&states->lock);
		ending = states->wants_end;
		lock_release(&states->lock);
	}
	lock_release(&thread->lock);
	return ending;
}

/* --- threads ------------------------------------------------------------- */

static void *run_states(void *context)
{
	struct states *states = context;
	struct states_thread *thread = states->thread;

	pthread_setname_np(pthread_self(), "perfrec-states");
	for (;;) {
		uint64_t wait = states_visit(states);

		if (is_states_finished(states))
			break;
		if (wait)
			wait_event(
				states->event,
				wait == UINT64_MAX
					? -1
					: (int)((MIN(wait, SLEEP_NS) + 999999) /
						1000000));
	}
	states_unlist(states);
	end_states_thread(thread, false);
	return NULL;
}

/* Under both locks. */
static int start_states_thread(struct states_thread *thread,
			       struct states *states)
{
	pthread_attr_t attributes;
	pthread_t ignored;
	int err;

	if (states->wants_end)
		return -ESRCH;
	if (states->has_thread || thread->event < 0)
		return 0;
	if (states->event < 0)
		states->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (states->event < 0)
		return -errno;
	err = pthread_attr_init(&attributes);
	if (err)
		return -err;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&ignored, &attributes, run_states, states);
	pthread_attr_destroy(&attributes);
	states->has_thread = !err;
	thread->running += !err;
	return -err;
}

int states_start(struct states *states)
{
	struct states_thread *thread = states->thread;
	int err;

	lock_acquire(&thread->lock);
	lock_acquire(&states->lock);
	err = start_states_thread(thread, states);
	lock_release(&states->lock);
	lock_release(&thread->lock);
	return err;
}

void states_thread_get(struct states_thread *thread)
{
	/* relaxed: the caller already has a reference */
	atom_add_rlx(&thread->refs, 1);
}

void states_thread_put(struct states_thread *thread)
{
	/* order: sc, REFS: all uses of it come before its end */
	if (atom_add_sc(&thread->refs, -1u) != 1)
		return;
	lock_destroy(&thread->lock);
	lock_destroy(&thread->guard_lock);
	free(thread);
}

int states_thread_start(struct collector *collector, struct states_thread **out)
{
	struct states_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return -ENOMEM;
	thread->refs = 1;
	thread->collector = collector;
	thread->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (thread->event < 0) {
		free(thread);
		return -errno;
	}
	lock_init(&thread->lock, LOCK_STATES_LIST);
	lock_init(&thread->guard_lock, LOCK_TEXT_GUARD);
	*out = thread;
	return 0;
}

bool states_thread_stop(struct states_thread **thread)
{
	struct states_thread *old = *thread;
	uint32_t running, given_up;

	*thread = NULL;
	if (!old)
		return true;
	for (;;) {
		give_up_stuck(old);
		lock_acquire(&old->lock);
		running = old->running;
		given_up = old->given_up;
		lock_release(&old->lock);
		if (running == given_up)
			break;
		wait_event(old->event, LOOK_MS);
	}
	/* The keeper restores the patched text when this process ends. */
	if (given_up)
		return false;
	text_guard_stop(&old->guard);
	states_plans_free(old);
	close(old->event);
	/* A job may be asking for an ended arena just now. */
	states_thread_put(old);
	return true;
}

bool states_are_restored(struct states_thread *thread, uint64_t number)
{
	bool restored = true;

	if (!thread)
		return true;
	give_up_stuck(thread);
	lock_acquire(&thread->lock);
	for (struct states *states = thread->first; states;
	     states = states->next)
		if (arena_session(states->arena)->number == number &&
		    !is_restored(states))
			restored = false;
	lock_release(&thread->lock);
	return restored;
}
