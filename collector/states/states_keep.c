/* SPDX-License-Identifier: Apache-2.0
 *
 * states_keep - restores the text of an arena's processes if this process
 * cannot. Each process has a memfd with a list of all changes ever made. The
 * process perfrec-keeper has copies of the descriptors (text_guard.h) in case
 * this process is killed. Children that connect only after the end are restored
 * by the list of their parent, because they were forked a moment before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/base/log.h"
#include "collector/base/proc.h"
#include "collector/code/patch.h"
#include "collector/code/text_guard.h"
#include "collector/code/text_keeper.h"
#include "collector/code/thunks.h"
#include "collector/record/arena.h"
#include "collector/states/states_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

/* A list is remade if it exceeds this and twice the present changes. It grows
 * as modules come and go. */
#define LIST_BYTES_MIN (1u << 20)

static void say_unkept(struct states_process *process, int err)
{
	static struct log_limit limit;

	if (process->unkept)
		return;
	process->unkept = true;
	log_limited(&limit, LOG_WARN,
		    "if perfrec-collect is killed, nobody restores all of "
		    "the text of the program with pid %d: %s",
		    (int)process->pid,
		    err == -ENOSPC ? "too many files are open (see ulimit -n)"
				   : strerror(-err));
}

/* --- the list ------------------------------------------------------------ */

static int write_list(int list, const void *entries, size_t bytes, uint64_t at)
{
	ssize_t written = pwrite(list, entries, bytes, (off_t)at);

	if (written == (ssize_t)bytes)
		return 0;
	return written < 0 ? -errno : -ENOMEM;
}

/* Appends @entries before they are patched. After an error the next entries
 * overwrite the incomplete ones. */
static void note_entries(void *context, const void *entries, size_t bytes)
{
	struct states_process *process = context;
	int err =
		write_list(process->list, entries, bytes, process->list_bytes);

	if (err)
		say_unkept(process, err);
	else
		process->list_bytes += bytes;
}

/* Makes a list of the present changes for @process. On an error @process keeps
 * its old list. Returns 0 or -errno. */
static int make_list(struct states_process *process)
{
	int file = memfd_create("perfrec-text", MFD_CLOEXEC), err = 0;
	struct bytes list = { 0 };

	if (file < 0)
		return -errno;
	patch_export(process->image, &list);
	if (list.failed)
		err = -ENOMEM;
	else if (list.count)
		err = write_list(file, list.at, list.count, 0);
	if (err) {
		close(file);
	} else {
		process->list = file;
		process->list_bytes = process->list_least = list.count;
	}
	bytes_release(&list);
	return err;
}

/* --- the keeper ----------------------------------------------------------- */

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

static struct kept_text kept_text_of(const struct states *states,
				     const struct states_process *process)
{
	struct kept_text text = {
		.number = process->kept,
		.registered = states_are_registered(states),
		.uid = arena_setup(states->arena)->uid,
		.mem = patch_image_mem(process->image),
		.list = process->list,
	};

	set_area(states, &text.area);
	return text;
}

static void hand_over_process(struct states *states,
			      struct states_process *process)
{
	struct states_thread *thread = states->thread;
	struct kept_text text = kept_text_of(states, process);
	int err;

	lock_acquire(&thread->guard_lock);
	text.number = ++thread->kept_numbers;
	err = text_guard_keep(&thread->guard, &text);
	lock_release(&thread->guard_lock);
	if (!err)
		process->kept = text.number;
	/* Each visit tries again. */
	if (err && err != -EAGAIN)
		say_unkept(process, err);
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

/* Replaces the list of @process in the keeper by the new one. Returns 0, or
 * -EAGAIN if the keeper has ended. */
static int hand_over_renewed(struct states *states,
			     const struct states_process *process)
{
	struct states_thread *thread = states->thread;
	const struct kept_text text = kept_text_of(states, process);
	int err;

	lock_acquire(&thread->guard_lock);
	err = text_guard_renew(&thread->guard, &text);
	lock_release(&thread->guard_lock);
	return err;
}

/* Starts a new list, and closes the old one once the keeper has the new one. */
static void renew(struct states *states, struct states_process *process)
{
	uint64_t bytes = process->list_bytes;
	int list = process->list, closed = list;

	/* If this fails, try again at twice the length. */
	process->list_least = bytes;
	if (make_list(process) < 0)
		return;
	if (process->kept && hand_over_renewed(states, process) < 0) {
		closed = process->list;
		process->list = list;
		process->list_bytes = process->list_least = bytes;
	}
	close(closed);
}

void states_keep(struct states *states, struct states_process *process)
{
	int err;

	/* Until now the image of a child reported to its parent's list. */
	patch_tell_to(process->image, NULL, NULL);
	err = make_list(process);
	if (err) {
		say_unkept(process, err);
		return;
	}
	if (states->patched)
		hand_over_process(states, process);
	patch_tell_to(process->image, note_entries, process);
}

/* Returns true if the keeper has ended since the last call for @states, so all
 * lists must be passed again. */
static bool has_lost_keeper(struct states *states)
{
	static struct log_limit limit, refused_limit;
	struct states_thread *thread = states->thread;
	uint32_t before = states->keepers;
	uint64_t refused;
	bool ended;

	lock_acquire(&thread->guard_lock);
	refused = thread->guard.refused;
	ended = text_guard_has_ended(&thread->guard);
	refused = thread->guard.refused - refused;
	thread->keepers += ended;
	states->keepers = thread->keepers;
	lock_release(&thread->guard_lock);
	if (ended)
		log_limited(&limit, LOG_WARN,
			    "perfrec-keeper, which would restore the text of "
			    "programs if perfrec-collect were killed, has "
			    "ended: it is started anew");
	if (refused)
		log_limited(&refused_limit, LOG_WARN,
			    "if perfrec-collect is killed, nobody restores "
			    "the text of %llu programs: perfrec-keeper cannot "
			    "open more files",
			    (unsigned long long)refused);
	return states->keepers != before;
}

void states_keep_on(struct states *states)
{
	bool anew = has_lost_keeper(states);

	for (struct states_process *process = states_first(states);
	     process && states->patched; process = process->next) {
		/* A process of a later time is already kept. */
		if (anew)
			drop_kept(states->thread, &process->kept);
		if (!process->image || process->list < 0 ||
		    states_has_ended(states, process))
			continue;
		if (process->list_bytes > LIST_BYTES_MIN &&
		    process->list_bytes / 2 > process->list_least)
			renew(states, process);
		if (!process->kept)
			hand_over_process(states, process);
	}
}

void states_keep_no_more(struct states *states, struct states_process *process)
{
	drop_kept(states->thread, &process->kept);
	/* Its children may still have the modules that it loaded. */
	if (process->list >= 0 && process->opened_ns) {
		uint32_t i = states->gone_count++ % STATES_GONE_MAX;

		if (states->gone_count > STATES_GONE_MAX)
			close(states->gone[i]);
		states->gone[i] = process->list;
		process->list = -1;
	}
}

void states_forget_gone(struct states *states)
{
	uint32_t count = MIN(states->gone_count, STATES_GONE_MAX);

	for (uint32_t i = 0; i < count; i++)
		close(states->gone[i]);
	states->gone_count = 0;
}

/* --- late children -------------------------------------------------------- */

/* Returns the process whose list applies to a child of @parent, or NULL if
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

static bool is_process_known(struct states *states, pid_t pid)
{
	for (const struct states_process *one = states_first(states); one;
	     one = one->next)
		if (one->pid == pid && one->image &&
		    !states_has_ended(states, one))
			return true;
	return false;
}

void states_restore_late(struct states *states)
{
	bool registered = states_are_registered(states);

	for (struct states_process *one = states_first(states); one;
	     one = one->next) {
		const struct states_process *parent;
		int mem;

		if (!states_meet(states, one))
			continue;
		lock_acquire(&states->lock);
		mem = one->mem;
		lock_release(&states->lock);
		parent = list_for(states, one->parent);
		if (!parent || mem < 0)
			continue;
		states_go_away(states);
		(void)text_restore(mem, parent->list, registered, NULL);
		states_come_back(states);
	}
}

struct search {
	struct states *states;
	struct text_seen seen;
	bool registered, more;
};

/* The time limit applies to each process separately. */
static void look_at_kept_text(void *arg)
{
	struct search *search = arg;

	states_go_away(search->states);
}

static pid_t parent_of_pid(pid_t pid)
{
	char status[PROC_STATUS_BYTES];

	if (!proc_read(pid, "status", status, sizeof(status)))
		return 0;
	return (pid_t)MAX(proc_status_number(status, "PPid"), 0L);
}

static void restore_found(void *arg, pid_t pid, size_t index)
{
	struct search *search = arg;
	struct states *states = search->states;
	uid_t uid = arena_setup(states->arena)->uid;
	const struct states_process *parent;
	bool known = is_process_known(states, pid);

	(void)index;
	/* A known process may have a library that its parent has unloaded. */
	if ((known && !states->dlopens) || !text_seen_add(&search->seen, pid))
		return;
	search->more = search->more || !known;
	look_at_kept_text(search);
	parent = list_for(states, parent_of_pid(pid));
	if (parent)
		(void)text_restore_process(pid, uid, parent->list,
					   search->registered);
	for (uint32_t i = 0; i < MIN(states->gone_count, STATES_GONE_MAX); i++)
		(void)text_restore_process(pid, uid, states->gone[i],
					   search->registered);
}

void states_search(struct states *states)
{
	struct search search = {
		.states = states,
		.registered = states_are_registered(states),
		.more = true,
	};
	const struct text_finds finds = { look_at_kept_text, restore_found };
	struct text_area area;

	set_area(states, &area);
	states_go_away(states);
	for (int i = 0; search.more && i < TEXT_FIND_ROUNDS; i++) {
		search.more = false;
		text_find(&area, 1, &finds, &search);
	}
	text_seen_release(&search.seen);
	states_come_back(states);
}
