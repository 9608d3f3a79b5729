/* SPDX-License-Identifier: Apache-2.0
 *
 * process - the state of a recorded program, and its end.
 *
 * It begins in drain/process_meet.c: on the main thread with a hello, or on a
 * drain worker that finds a slot claimed by a process id it does not know. It
 * ends when its pidfd says so, when another image says hello with its process
 * id (exec), when it writes nonsense, or when the recording ends. Then:
 *
 *   process_end()          any thread    marks it as ending; the caller kicks
 *                                        the drain workers (drain_kick())
 *   process_drained()      each worker   has taken in what is left in its
 *                                        slots, and posted a job for each
 *                                        thread
 *   process_reap_finish()  jobs thread   comes after those jobs: the sums are
 *                                        whole
 *   process_reap()         main thread   frees it, as events may still be on
 *                                        the way to its watch before
 */
#include "collector/record/process.h"

#include <poll.h>
#include <string.h>

#include "collector/base/lock.h"
#include "collector/base/clock.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/family.h"
#include "shared/atomic.h"

_Static_assert(sizeof(((struct process_entry *)NULL)->name) ==
		       FAMILY_NAME_BYTES,
	       "a name fits");

const struct process_setup *process_setup(const struct process *process)
{
	return &process->setup;
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
	struct process *process = arena->processes;

	while (process && process->setup.inner_pid != inner_pid)
		process = process->next;
	return process;
}

pid_t process_outer_pid(struct arena *arena, pid_t inner_pid)
{
	const struct process *process;
	pid_t pid;

	lock_acquire(&arena->lock);
	process = process_find_inner(arena, inner_pid);
	pid = process ? process->setup.pid : 0;
	lock_release(&arena->lock);
	return pid;
}

void process_end(struct process *process, enum process_end why)
{
	struct collector *collector = process->setup.collector;

	lock_acquire(&collector->lock);
	/* relaxed: changed under this lock only */
	if (!atom_load_rlx(&process->ending)) {
		process->ended = why;
		process->end_ns = clock_boottime_ns();
		/* order: rel, ENDING: how it ended, then that it did */
		atom_store_rel(&process->ending, 1);
	}
	lock_release(&collector->lock);
}

bool process_is_ending(const struct process *process)
{
	/* order: acq, ENDING: how it ended is settled */
	return atom_load_acq(&process->ending);
}

bool process_is_gone(const struct process *process)
{
	return process_is_ending(process) &&
	       (process->ended == PROCESS_EXITED ||
		process->ended == PROCESS_EXECED);
}

void process_drained(struct process *process, uint32_t worker, uint32_t workers)
{
	uint64_t bit = 1ULL << worker, all = (1ULL << workers) - 1;
	/* order: sc, DRAINED: the last one here sees the others' work done */
	uint64_t before = atom_or_sc(&process->drained, bit);

	if (before != all && (before | bit) == all)
		jobs_post(process->setup.collector->jobs, &process->done_job);
}

bool process_is_drained(const struct process *process, uint32_t worker)
{
	/* relaxed: a worker asks for its own bit */
	return atom_load_rlx(&process->drained) & 1ULL << worker;
}

bool process_has_exited(const struct process *process)
{
	struct pollfd poll_fd = { .fd = process->watch.fd, .events = POLLIN };

	return process->watch.fd >= 0 && poll(&poll_fd, 1, 0) > 0;
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
