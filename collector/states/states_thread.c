/* SPDX-License-Identifier: Apache-2.0
 *
 * states_thread - the thread perfrec-states: one for all arenas. It visits each
 * arena in turn, for VISIT_NS at most, and sleeps until somebody asks for
 * something or the next tick of an arena is due.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/log.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/states/states_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

/* The longest sleep: loads of modules are told by nobody. */
#define SLEEP_NS 100000000

void states_wake(struct states_thread *thread)
{
	uint64_t one = 1;

	(void)!write(thread->event, &one, sizeof(one));
}

static void sleep_until_asked(struct states_thread *thread, uint64_t ns)
{
	struct pollfd events[] = {
		{ .fd = thread->event, .events = POLLIN },
		{ .fd = text_guard_descriptor(&thread->guard),
		  .events = POLLIN },
	};
	int timeout = -1;
	uint64_t count;

	if (ns != UINT64_MAX)
		timeout = (int)(MIN(ns, SLEEP_NS) / 1000000);
	if (poll(events, ARRAY_SIZE(events), timeout) > 0 && events[0].revents)
		(void)!read(thread->event, &count, sizeof(count));
}

/* The arena after @states in the list, or the first, with a reference. */
static struct states *take_next(struct states_thread *thread,
				struct states *states)
{
	struct states *next;

	lock_acquire(&thread->lock);
	next = states ? states->next : thread->first;
	if (next)
		states_get(next);
	lock_release(&thread->lock);
	return next;
}

/* Take @states, which has ended, out of the list. */
static void unlist(struct states_thread *thread, struct states *states)
{
	struct states **link = &thread->first, *listed = states;

	lock_acquire(&thread->lock);
	while (*link != states)
		link = &(*link)->next;
	*link = states->next;
	lock_release(&thread->lock);
	states_processes_free(states);
	/* What is forked from now on has text as its file.
	 * relaxed: a child that says so all the same is heard by nobody */
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

static bool is_finished(struct states *states)
{
	bool finished;

	lock_acquire(&states->lock);
	finished = states->restored && states->wants_end;
	lock_release(&states->lock);
	return finished;
}

/* Restore children that nobody has heard of, of all arenas that have ended: one
 * look at all processes of the machine does for all. Whether there were any. */
static bool search_all(struct states_thread *thread)
{
	struct states **list = NULL;
	size_t count = 0, room = 0;

	/* Only this thread takes any out. */
	lock_acquire(&thread->lock);
	for (struct states *states = thread->first; states;
	     states = states->next)
		if (states->searching && grow_array(list, room, count + 1) == 0)
			list[count++] = states;
	lock_release(&thread->lock);
	if (count)
		states_search(list, count);
	for (size_t i = 0; i < count; i++)
		list[i]->searching = false;
	free(list);
	return count;
}

static void look_at_keeper(struct states_thread *thread)
{
	static struct log_limit limit;

	if (!text_guard_has_ended(&thread->guard))
		return;
	log_limited(&limit, LOG_WARN,
		    "perfrec-keeper, which would restore the text of programs "
		    "if perfrec-collect were killed, has ended: it is started "
		    "anew");
	lock_acquire(&thread->lock);
	for (struct states *states = thread->first; states;
	     states = states->next)
		states_forget_keeper(states);
	lock_release(&thread->lock);
}

/* Visit all arenas. Returns after how many ns it is to be done again. */
static uint64_t visit_all(struct states_thread *thread)
{
	struct states *states, *next;
	uint64_t wait = UINT64_MAX, ns;

	look_at_keeper(thread);
	states = take_next(thread, NULL);
	for (; states; states = next) {
		ns = states_visit(states);
		wait = MIN(wait, ns);
		next = take_next(thread, states);
		/* Only this thread takes any out. */
		if (is_finished(states))
			unlist(thread, states);
		states_put(&states);
	}
	return wait;
}

static bool is_over(struct states_thread *thread)
{
	bool over;

	lock_acquire(&thread->lock);
	over = thread->closing && !thread->first;
	lock_release(&thread->lock);
	return over;
}

static void *run(void *context)
{
	struct states_thread *thread = context;
	uint64_t wait;

	pthread_setname_np(pthread_self(), "perfrec-states");
	while (!is_over(thread)) {
		wait = visit_all(thread);
		if (search_all(thread))
			wait = 0;
		if (wait && !is_over(thread))
			sleep_until_asked(thread, wait);
	}
	return NULL;
}

int states_thread_start(struct collector *collector, struct states_thread **out)
{
	struct states_thread *thread = calloc(1, sizeof(*thread));
	int err;

	if (!thread)
		return -ENOMEM;
	thread->collector = collector;
	lock_init(&thread->lock, LOCK_STATES_LIST);
	thread->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = thread->event < 0 ? errno : 0;
	if (!err)
		err = pthread_create(&thread->thread, NULL, run, thread);
	if (err) {
		if (thread->event >= 0)
			close(thread->event);
		lock_destroy(&thread->lock);
		free(thread);
		return -err;
	}
	*out = thread;
	return 0;
}

void states_thread_stop(struct states_thread **thread)
{
	struct states_thread *old = *thread;

	*thread = NULL;
	if (!old)
		return;
	lock_acquire(&old->lock);
	old->closing = true;
	lock_release(&old->lock);
	states_wake(old);
	pthread_join(old->thread, NULL);
	text_guard_stop(&old->guard);
	states_plans_free(old);
	close(old->event);
	lock_destroy(&old->lock);
	free(old);
}

bool states_are_restored(struct states_thread *thread, uint64_t number)
{
	bool restored = true;

	if (!thread)
		return true;
	lock_acquire(&thread->lock);
	for (struct states *states = thread->first; states;
	     states = states->next)
		if (arena_session(states->arena)->number == number &&
		    !is_restored(states))
			restored = false;
	lock_release(&thread->lock);
	return restored;
}
