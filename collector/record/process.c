/* SPDX-License-Identifier: Apache-2.0
 *
 * process - the state of a recorded program, and its end.
 *
 * drain/process_meet.c starts it: on the main thread with a hello, or on a
 * drain worker when a slot has an unknown process id. It ends when its pidfd
 * reports the end (process_look() finds the end of an unwatched process), when
 * another image says hello with its process id (exec), when it writes nonsense,
 * or when the recording ends. Then:
 *
 *   process_end()          any thread    marks it as ending; the caller kicks
 *                                        the drain workers (drain_kick())
 *   process_drained()      each worker   has read all records in its slots,
 *                                        and posted a job for each thread
 *   process_reap_finish()  jobs thread   comes after those jobs: the sums are
 *                                        whole; calls process_done()
 *   process_reap()         main thread   frees it here, because until then
 *                                        events of its watch may arrive
 */
#include "collector/record/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/proc.h"
#include "collector/base/random.h"
#include "collector/names/map_log.h"
#include "collector/names/modules.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/family.h"
#include "collector/record/process_inner.h"
#include "collector/record/tracks.h"
#include "collector/record/watches.h"
#include "shared/atomic.h"

_Static_assert(sizeof(((struct process_entry *)NULL)->name) ==
		       FAMILY_NAME_BYTES,
	       "a name fits");

/* Processes per call of process_look() whose state it reads from /proc. */
#define LOOKED_AT 64

/* --- start and end ------------------------------------------------------- */

static void watched_process_exited(struct watch *watch)
{
	struct process *process = (struct process *)watch;

	loop_remove(process->setup.collector->loop, watch);
	process->calls->exited(process);
}

static void run_drained(struct job *job)
{
	struct process *process =
		(struct process *)((char *)job -
				   offsetof(struct process, drained_job));

	process->calls->drained(process);
}

int process_new(const struct process_setup *setup, int pidfd,
		const struct process_calls *calls, struct process **out)
{
	struct process *process = calloc(1, sizeof(*process));
	int err = 0;

	if (!process)
		return -ENOMEM;
	*process = (struct process){
		.watch = { .fd = pidfd, .ready = watched_process_exited },
		.calls = calls,
		.setup = *setup,
		.start_flow =
			setup->forked ? 0 : setup->arena_setup->start_flow,
		.drained_job = { .run = run_drained },
	};
	lock_init(&process->threads.lock, LOCK_OUTER_IDS);
	if (pidfd >= 0)
		err = loop_add(setup->collector->loop, &process->watch);
	if (err) {
		outer_ids_release(&process->threads);
		free(process);
		return err;
	}
	*out = process;
	return 0;
}

void process_setup_release(struct process_setup *setup)
{
	if (setup->entry) {
		free(setup->entry->cmdline);
		free(setup->entry);
	}
	if (setup->modules)
		modules_put(&setup->modules);
	tracks_put(&setup->tracks);
	if (setup->watched)
		watches_give(setup->collector);
	if (setup->paid)
		budget_give(
			recording_setup(setup->arena_setup->recording)->budget,
			PROCESS_BYTES);
	if (setup->arena)
		arena_put(&setup->arena);
}

void process_free(struct process *process)
{
	if (process->entry_listed)
		process->setup.entry = NULL;
	if (process->watch.fd >= 0)
		close(process->watch.fd);
	process_setup_release(&process->setup);
	outer_ids_release(&process->threads);
	free(process);
}

void process_list(struct process *process)
{
	struct collector *collector = process->setup.collector;
	struct arena *arena = process->setup.arena;

	process->entry_listed = recording_list_process(
		process->setup.arena_setup->recording, process->setup.entry);
	process->next = *arena_processes(arena);
	*arena_processes(arena) = process;
	*arena_watched(arena) += process->setup.watched;

	lock_acquire(&collector->lock);
	process->next_all = collector->processes;
	collector->processes = process;
	collector->process_count++;
	collector->unwatched_count += process->setup.began != 0;
	lock_release(&collector->lock);
}

/* Keeps the state that children of @process start with: their first slots may
 * appear after @process is freed. Under the arena's lock. */
static void keep_kin(const struct process *process)
{
	struct family *family = arena_family(process->setup.arena);
	const struct kin kin = process_kin(process);

	if (!process->setup.forked)
		family_keep_root(family, &kin);
	/* relaxed: workers have drained and finished all its threads */
	else if (atom_load_rlx(&process->has_forked))
		family_keep(family, &kin);
}

static void unlink_from_arena(struct process *process)
{
	struct arena *arena = process->setup.arena;
	struct process **link = arena_processes(arena);

	arena_lock(arena);
	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
	*arena_watched(arena) -= process->setup.watched;
	keep_kin(process);
	/* All workers have looked at all slots since its end. */
	if (process->end.why == PROCESS_RUNNING)
		arena_cut(arena);
	if (!arena_first_process(arena))
		arena_note_idle(arena);
	arena_unlock(arena);
}

static void unlink_from_collector(struct process *process)
{
	struct collector *collector = process->setup.collector;
	struct process **link = &collector->processes;

	lock_acquire(&collector->lock);
	while (*link != process)
		link = &(*link)->next_all;
	*link = process->next_all;
	collector->process_count--;
	collector->unwatched_count -= process->setup.began != 0;
	lock_release(&collector->lock);
}

void process_unlist(struct process *process)
{
	if (process->watch.fd >= 0 && process->watch.ready)
		loop_remove(process->setup.collector->loop, &process->watch);
	unlink_from_collector(process);
	unlink_from_arena(process);
}

void process_done(struct process *process)
{
	struct collector *collector = process->setup.collector;
	uint64_t one = 1;

	lock_acquire(&collector->lock);
	process->done_next = collector->done;
	collector->done = process;
	lock_release(&collector->lock);
	if (write(collector->done_fd, &one, sizeof(one)) < 0)
		log_err("cannot wake the main thread: %m");
}

struct process *process_take_done(struct collector *collector)
{
	struct process *process;

	lock_acquire(&collector->lock);
	process = collector->done;
	if (process)
		collector->done = process->done_next;
	lock_release(&collector->lock);
	return process;
}

/* --- queries ------------------------------------------------------------- */

const struct process_setup *process_setup(const struct process *process)
{
	return &process->setup;
}

bool process_is_listed(const struct process *process)
{
	return process->entry_listed;
}

struct process_parts *process_parts(struct process *process)
{
	return &process->parts;
}

struct process *process_next(const struct process *process)
{
	return process->next;
}

struct process *process_next_all(const struct process *process)
{
	return process->next_all;
}

struct kin process_kin(const struct process *process)
{
	struct kin kin = {
		.pid = process->setup.pid,
		.inner_pid = process->setup.inner_pid,
		.foreign = process->setup.foreign,
		.modules = process->setup.modules,
		.tracks = process->setup.tracks,
	};

	memcpy(kin.name, process->setup.entry->name, sizeof(kin.name));
	return kin;
}

struct process *process_find_inner(struct arena *arena, pid_t inner_pid)
{
	struct process *process = arena_first_process(arena);

	while (process && process->setup.inner_pid != inner_pid)
		process = process->next;
	return process;
}

pid_t process_outer_pid(struct arena *arena, pid_t inner_pid)
{
	const struct process *process;
	pid_t pid;

	arena_lock(arena);
	process = process_find_inner(arena, inner_pid);
	pid = process ? process->setup.pid : 0;
	arena_unlock(arena);
	return pid;
}

pid_t process_outer_thread(struct process *process, pid_t inner)
{
	const struct process_setup *setup = &process->setup;

	/* The collector knows the main thread's id in any namespace. A thread
	 * that may make no system call does not know its own. */
	if (inner == setup->inner_pid || inner <= 0)
		return setup->pid;
	if (!setup->foreign)
		return inner;
	return outer_ids_thread(&process->threads, setup->pid, inner);
}

uint64_t process_take_start_flow(struct process *process)
{
	uint64_t flow = process->start_flow;

	process->start_flow = 0;
	return flow;
}

uint64_t process_rss_track(struct process *process, bool *first)
{
	*first = !process->rss_uuid;
	if (*first)
		process->rss_uuid = random_u64();
	return process->rss_uuid;
}

size_t process_unloaded(const struct process *process, uint32_t after,
			uint32_t upto, struct address_range *out, size_t room)
{
	struct map_log *log = process->setup.arena_setup->map_log;

	/* With an incomplete log any module may be gone. */
	if (!log || map_log_lost(log))
		return SIZE_MAX;
	return map_log_unloaded(log, process->setup.inner_pid, after, upto, out,
				room);
}

void process_note_fork(struct process *process)
{
	/* relaxed: keep_kin() comes after all of the drain */
	atom_store_rlx(&process->has_forked, 1);
}

static void end_process_as(struct process *process, enum process_end why,
			   uint64_t exec_flow)
{
	struct collector *collector = process->setup.collector;

	lock_acquire(&collector->lock);
	/* relaxed: changed only under this lock */
	if (!atom_load_rlx(&process->ending)) {
		process->end =
			(struct process_ending){ why, clock_boottime_ns(),
						 exec_flow };
		/* order: rel, ENDING: the reason first, then the flag */
		atom_store_rel(&process->ending, 1);
	}
	lock_release(&collector->lock);
}

void process_end(struct process *process, enum process_end why)
{
	end_process_as(process, why, 0);
}

void process_end_by_exec(struct process *process, uint64_t flow)
{
	end_process_as(process, PROCESS_EXECED, flow);
}

void process_stop(struct process *process)
{
	process_end(process, process_has_exited(process) ? PROCESS_EXITED
							 : PROCESS_RUNNING);
}

const struct process_ending *process_ending(const struct process *process)
{
	/* order: acq, ENDING: the reason is final */
	return atom_load_acq(&process->ending) ? &process->end : NULL;
}

bool process_is_ending(const struct process *process)
{
	return process_ending(process);
}

bool process_is_gone(const struct process *process)
{
	const struct process_ending *ending = process_ending(process);

	return ending &&
	       (ending->why == PROCESS_EXITED || ending->why == PROCESS_EXECED);
}

void process_drained(struct process *process, uint32_t worker, uint32_t workers)
{
	uint64_t bit = 1ULL << worker, all = (1ULL << workers) - 1;
	/* order: sc, DRAINED: the last worker sees the others' work done */
	uint64_t before = atom_or_sc(&process->drained, bit);

	if (before != all && (before | bit) == all)
		jobs_post(recording_setup(process->setup.arena_setup->recording)
				  ->jobs,
			  &process->drained_job);
}

bool process_is_drained(const struct process *process, uint32_t worker)
{
	/* relaxed: a worker reads its own bit */
	return atom_load_rlx(&process->drained) & 1ULL << worker;
}

bool process_has_exited(const struct process *process)
{
	struct pollfd poll_fd = { .fd = process->watch.fd, .events = POLLIN };
	uint64_t began;

	if (process->setup.began) {
		began = proc_began(process->setup.pid);
		return began != process->setup.began && began != PROC_UNKNOWN;
	}
	return process->watch.fd >= 0 && poll(&poll_fd, 1, 0) > 0;
}

int process_wait_status(const struct process *process)
{
	return proc_wait_status(process->setup.pid, process->watch.fd);
}

bool process_is_running(const struct process *process)
{
	return (process->watch.fd >= 0 || process->setup.began) &&
	       !process_has_exited(process);
}

void process_look(struct collector *collector)
{
	uint32_t count, first = collector->looked, end, at = 0;
	struct process *process;

	lock_acquire(&collector->lock);
	process = collector->processes;
	count = collector->unwatched_count;
	lock_release(&collector->lock);
	if (!count)
		return;
	first = first < count ? first : 0;
	end = collector->looked = first + LOOKED_AT;
	/* Only this thread removes processes; new ones go to the front. */
	for (; process; process = process->next_all) {
		bool closely;

		if (!process->setup.began)
			continue;
		closely = at >= first && at < end;
		at++;
		if (process_is_ending(process))
			continue;
		if ((kill(process->setup.pid, 0) < 0 && errno == ESRCH) ||
		    (closely && process_has_exited(process)))
			process->calls->exited(process);
	}
}

struct process *process_find(struct collector *collector, pid_t pid)
{
	struct process *process;

	lock_acquire(&collector->lock);
	for (process = collector->processes; process;
	     process = process->next_all)
		if (process->setup.pid == pid && !process_is_ending(process))
			break;
	lock_release(&collector->lock);
	return process;
}
