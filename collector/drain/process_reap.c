/* SPDX-License-Identifier: Apache-2.0
 *
 * process_reap - the end of a process, and that of its arena.
 *
 * An arena is kept as long as anybody has it mapped (arena_is_held()): a child
 * that has not recorded yet may outlive all processes that are known. Where the
 * kernel does not tell who has it mapped, the arena of a program that has
 * forked is kept for FORK_GRACE_NS. Before it goes, the workers look at all its
 * slots once more: a child may have come and gone since they did.
 */
#include "collector/drain/process_reap.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/lock.h"
#include "collector/base/clock.h"
#include "collector/base/log.h"
#include "collector/base/loop.h"
#include "collector/drain/drain.h"
#include "collector/heap/heap_files.h"
#include "collector/heap/process_heap.h"
#include "collector/names/modules.h"
#include "collector/notes/async_slices.h"
#include "collector/notes/thread_notes.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/family.h"
#include "collector/record/process.h"
#include "collector/record/tracks.h"
#include "collector/samples/cpu_samples.h"
#include "collector/samples/samples.h"
#include "shared/atomic.h"

#define FORK_GRACE_NS 300000000

void process_reap_free(struct process *process)
{
	if (process->setup.entry && !process->entry_listed) {
		free(process->setup.entry->cmdline);
		free(process->setup.entry);
	}
	process_heap_put(&process->parts.heap);
	if (process->setup.samples)
		samples_put(&process->setup.samples);
	if (process->setup.modules)
		modules_put(&process->setup.modules);
	async_slices_free(&process->parts.slices);
	tracks_put(&process->setup.tracks);
	if (process->watch.fd >= 0)
		close(process->watch.fd);
	if (process->setup.arena)
		arena_put(&process->setup.arena);
	outer_ids_release(&process->threads);
	free(process);
}

/* Whether the program waited for our reply for as long as it may, and then went
 * on unrecorded. */
static bool process_gave_up(const struct process *process)
{
	/* relaxed: a flag that is set once, and the program is gone */
	return atom_load_rlx(&process->setup.arena->page->flags) & PAGE_GAVE_UP;
}

static void note_gave_up(const struct process *process)
{
	static struct log_limit limit;

	if (process->setup.collector->recording)
		recording_refuse(process->setup.collector->recording,
				 process->setup.pid,
				 "it could not wait for an answer any longer");
	else
		log_limited(&limit, LOG_WARN,
			    "'%s' (pid %d) was not recorded: it could not wait "
			    "for an answer any longer",
			    process->setup.entry->name,
			    (int)process->setup.pid);
}

/* With --cpu=HZ,signal: tell of threads that could not have a timer. */
static void note_unsampled(const struct process *process)
{
	const struct collect_options *options =
		process->setup.collector->options;

	if (!options->cpu_hz || options->cpu_engine != CPU_SIGNAL)
		return;
	/* relaxed: a count, and the program's word */
	if (atom_load_rlx(&process->setup.arena->page->unsampled_threads))
		recording_note(process->setup.arena->recording,
			       "not all threads have CPU samples: there was no "
			       "timer for them, or the program uses SIGPROF");
}

void process_reap_finish(struct job *job)
{
	struct process *process =
		(struct process *)((char *)job -
				   offsetof(struct process, done_job));
	struct collector *collector = process->setup.collector;
	struct recording *recording = process->setup.arena->recording;
	struct process_heap *heap;
	bool instrumented = modules_instrumented(process->setup.modules);
	uint64_t one = 1;

	if (process_gave_up(process))
		note_gave_up(process);
	process_notes_finish(process);
	heap = process_heap_end(process);
	if (heap)
		heap_files_finish(heap);
	note_unsampled(process);
	recording_lock(recording);
	process->setup.entry->instrumented = instrumented;
	process->setup.entry->ended = process->end.why;
	process->setup.entry->end_ns = process->end.ns;
	recording_unlock(recording);

	lock_acquire(&collector->lock);
	process->done_next = collector->done;
	collector->done = process;
	lock_release(&collector->lock);
	if (write(collector->done_fd, &one, sizeof(one)) < 0)
		log_err("cannot wake the main thread: %m");
}

/* Keep what children of @process start with, as they may be met only after it
 * has been freed. Under the arena's lock. */
static void keep_kin(const struct process *process)
{
	struct family *family = &process->setup.arena->family;
	const struct kin kin = process_kin(process);

	if (!process->setup.forked)
		family_keep_root(family, &kin);
	/* relaxed: its threads have been drained, and finished since */
	else if (atom_load_rlx(&process->has_forked))
		family_keep(family, &kin);
}

static void unlink_from_arena(struct process *process)
{
	struct arena *arena = process->setup.arena;
	struct process **link = &arena->processes;

	lock_acquire(&arena->lock);
	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
	keep_kin(process);
	/* All workers have looked at all slots since it ended. */
	if (process->end.why == PROCESS_RUNNING)
		arena->cut = true;
	if (!arena->processes)
		arena->end.idle_since_ns = clock_boottime_ns();
	lock_release(&arena->lock);
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
	lock_release(&collector->lock);
}

static void free_done_processes(struct collector *collector)
{
	struct process *process, *next;

	lock_acquire(&collector->lock);
	process = collector->done;
	collector->done = NULL;
	lock_release(&collector->lock);
	for (; process; process = next) {
		next = process->done_next;
		if (process->watch.fd >= 0 && process->watch.ready)
			loop_remove(collector->loop, &process->watch);
		unlink_from_collector(process);
		unlink_from_arena(process);
		process_reap_free(process);
	}
}

/* Whether a child of a process of @arena may still come and record. */
static bool is_child_awaited(const struct collector *collector,
			     struct arena *arena)
{
	int held;

	if (collector->closing || arena_is_off(arena))
		return false;
	held = arena_is_held(arena);
	if (held >= 0)
		return held;
	/* relaxed: a hint, set long before the last process ended */
	return atom_load_rlx(&arena->forked) &&
	       clock_boottime_ns() - arena->end.idle_since_ns < FORK_GRACE_NS;
}

static bool has_processes(struct arena *arena)
{
	bool some;

	lock_acquire(&arena->lock);
	some = arena->processes;
	lock_release(&arena->lock);
	return some;
}

/* Whether workers look at the slots of @arena for the last time: then a process
 * in a slot cannot be looked for again (process_meet.c). */
static void set_leaving(struct arena *arena, bool leaving)
{
	lock_acquire(&arena->lock);
	arena->end.leaving = leaving;
	lock_release(&arena->lock);
}

static bool is_arena_unused(struct collector *collector, struct arena *arena)
{
	struct drain *drain = collector->drain;

	if (has_processes(arena) || is_child_awaited(collector, arena)) {
		set_leaving(arena, false);
		return false;
	}
	if (!arena->end.leaving) {
		set_leaving(arena, true);
		drain_note_passes(drain, &arena->end.last_look);
		return false;
	}
	/* What the last look has found is in the list by then. */
	return drain_has_passed(drain, &arena->end.last_look) &&
	       !has_processes(arena);
}

void process_reap(struct collector *collector, arena_left *left)
{
	struct arena **link = &collector->arenas, *arena;

	free_done_processes(collector);
	while ((arena = *link)) {
		if (!is_arena_unused(collector, arena)) {
			link = &arena->next;
			continue;
		}
		*link = arena->next;
		left(collector, arena);
		cpu_group_free(&arena->cpu);
		arena_control(arena, CONTROL_OFF);
		drain_remove(collector->drain, arena);
		arena_put(&arena);
	}
}
