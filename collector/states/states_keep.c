/* SPDX-License-Identifier: Apache-2.0
 *
 * states_keep - what restores the text of the processes of an arena if we
 * cannot. Each has a list of what was ever changed in it, in a memfd. The
 * process perfrec-keeper has a copy of the descriptors (text_guard.h), for when
 * we are killed. And children that are heard of only after the end are restored
 * by the list of their parent: they were forked a moment before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/base/log.h"
#include "collector/patch/patch.h"
#include "collector/patch/text_guard.h"
#include "collector/patch/text_keeper.h"
#include "collector/patch/thunks.h"
#include "collector/record/arena.h"
#include "collector/states/states_inner.h"
#include "shared/atomic.h"
#include "shared/ring_shm.h"

/* A list that has grown to this, and to twice of what is changed now, as
 * modules come and go, is made anew. */
#define LIST_BYTES_MIN (1u << 20)

/* --- the list ---------------------------------------------------------------
 */

/* @entries are about to be patched. What does not fit is not there: the next
 * are written in its place. */
static void note_entries(void *context, const void *entries, size_t bytes)
{
	struct states_process *process = context;

	if (pwrite(process->list, entries, bytes, (off_t)process->list_bytes) ==
	    (ssize_t)bytes)
		process->list_bytes += bytes;
}

static int make_list(struct states_process *process)
{
	struct bytes list = { 0 };

	process->list = memfd_create("perfrec-text", MFD_CLOEXEC);
	if (process->list < 0)
		return -errno;
	process->list_bytes = 0;
	patch_export(process->image, &list);
	if (list.count)
		note_entries(process, list.at, list.count);
	process->list_least = process->list_bytes;
	bytes_release(&list);
	return 0;
}

static bool has_outgrown(const struct states_process *process)
{
	return process->list_bytes > LIST_BYTES_MIN &&
	       process->list_bytes / 2 > process->list_least;
}

/* --- who keeps it -----------------------------------------------------------
 */

bool states_are_registered(const struct states *states)
{
	/* relaxed: set before the hello */
	return atom_load_rlx(&arena_setup(states->arena)->page->flags) &
	       PAGE_BARRIER;
}

static void set_area(const struct states *states, struct text_area *area)
{
	*area = (struct text_area){ .since_ns = states->hello_ns };
	thunk_area_file(states->area, &area->device, &area->inode);
}

static void hand_over(struct states *states, struct states_process *process)
{
	static struct log_limit limit;
	struct states_thread *thread = states->thread;
	struct kept_text text = {
		.registered = states_are_registered(states),
		.mem = patch_image_mem(process->image),
		.list = process->list,
	};
	int err;

	set_area(states, &text.area);
	lock_acquire(&thread->guard_lock);
	text.number = ++thread->kept_numbers;
	err = text_guard_keep(&thread->guard, &text);
	lock_release(&thread->guard_lock);
	if (!err)
		process->kept = text.number;
	/* It is tried again with each visit. */
	if (!err || err == -EAGAIN || process->unkept)
		return;
	process->unkept = true;
	log_limited(&limit, LOG_WARN,
		    "should perfrec-collect be killed, nobody restores the "
		    "text of the program with pid %d: %s",
		    (int)process->pid,
		    err == -ENOSPC ? "too many files are open (see ulimit -n)"
				   : strerror(-err));
}

static void drop_kept(struct states_thread *thread, uint64_t *number)
{
	if (!*number)
		return;
	lock_acquire(&thread->guard_lock);
	text_guard_drop(&thread->guard, *number);
	lock_release(&thread->guard_lock);
	*number = 0;
}

/* Begin a new list, and let go of the old one when the new one is kept. */
static void renew(struct states *states, struct states_process *process)
{
	uint64_t before = process->kept;
	int list = process->list;

	process->list_least = process->list_bytes;
	if (make_list(process) < 0) {
		process->list = list;
		return;
	}
	process->kept = 0;
	hand_over(states, process);
	drop_kept(states->thread, &before);
	close(list);
}

void states_keep(struct states *states, struct states_process *process)
{
	/* That of a child tells its parent's list. */
	patch_tell_to(process->image, NULL, NULL);
	if (make_list(process) < 0)
		return;
	if (states->patched)
		hand_over(states, process);
	patch_tell_to(process->image, note_entries, process);
}

/* Whether the keeper has ended since this was asked for @states: all is to be
 * handed over again. */
static bool has_lost_keeper(struct states *states)
{
	static struct log_limit limit;
	struct states_thread *thread = states->thread;
	uint32_t before = states->keepers;
	bool ended;

	lock_acquire(&thread->guard_lock);
	ended = text_guard_has_ended(&thread->guard);
	thread->keepers += ended;
	states->keepers = thread->keepers;
	lock_release(&thread->guard_lock);
	if (ended)
		log_limited(&limit, LOG_WARN,
			    "perfrec-keeper, which would restore the text of "
			    "programs if perfrec-collect were killed, has "
			    "ended: it is started anew");
	return states->keepers != before;
}

void states_keep_on(struct states *states)
{
	bool anew = has_lost_keeper(states);

	for (struct states_process *process = states_first(states);
	     process && states->patched; process = process->next) {
		/* A process that began since then is kept already. */
		if (anew)
			drop_kept(states->thread, &process->kept);
		if (!process->image || process->list < 0 || process->ended)
			continue;
		if (has_outgrown(process))
			renew(states, process);
		if (!process->kept)
			hand_over(states, process);
	}
}

void states_keep_no_more(struct states *states, struct states_process *process)
{
	drop_kept(states->thread, &process->kept);
}

/* --- children that come late ------------------------------------------------
 */

/* Whose list says what is in the text of a process with that parent; NULL:
 * nothing was ever changed. */
static const struct states_process *list_for(struct states *states,
					     pid_t parent)
{
	const struct states_process *best = NULL;

	for (const struct states_process *one = states_first(states); one;
	     one = one->next) {
		if (one->list < 0)
			continue;
		if (one->pid == parent)
			return one;
		if (!best || one->list_bytes > best->list_bytes)
			best = one;
	}
	return best;
}

static bool is_known(struct states *states, pid_t pid)
{
	for (const struct states_process *one = states_first(states); one;
	     one = one->next)
		if (one->pid == pid && one->image && !one->ended)
			return true;
	return false;
}

void states_restore_late(struct states *states)
{
	bool registered = states_are_registered(states);

	for (struct states_process *one = states_first(states); one;
	     one = one->next) {
		const struct states_process *parent;

		if (!states_meet(states, one))
			continue;
		parent = list_for(states, one->parent);
		if (!parent || one->mem < 0)
			continue;
		states_go_away(states);
		(void)text_restore(one->mem, parent->list, registered);
		states_come_back(states);
	}
}

struct search {
	struct states *states;
	struct text_seen seen;
	bool registered, more;
};

static void restore_found(void *arg, pid_t pid, size_t index)
{
	struct search *search = arg;
	const struct states_process *parent;

	(void)index;
	if (is_known(search->states, pid) || !text_seen_add(&search->seen, pid))
		return;
	search->more = true;
	parent = list_for(search->states, 0);
	if (parent)
		(void)text_restore_process(pid, parent->list,
					   search->registered);
}

void states_search(struct states *states)
{
	struct search search = {
		.states = states,
		.registered = states_are_registered(states),
		.more = true,
	};
	struct text_area area;

	set_area(states, &area);
	states_go_away(states);
	for (int i = 0; search.more && i < TEXT_FIND_ROUNDS; i++) {
		search.more = false;
		text_find(&area, 1, restore_found, &search);
	}
	states_come_back(states);
	text_seen_release(&search.seen);
}
