/* SPDX-License-Identifier: Apache-2.0
 *
 * process_reap - the end of a process, and of its arena.
 *
 * An arena stays while any process maps it (arena_is_held()): a child that has
 * not recorded yet may outlive all known processes. If the kernel does not show
 * who maps it, the arena of a program that has forked stays for FORK_GRACE_NS.
 * Before it goes, the workers look at all its slots once more, because a child
 * may have come and gone since their last look.
 */
#include "collector/drain/process_reap.h"

#include "collector/base/clock.h"
#include "collector/base/log.h"
#include "collector/drain/async_slices.h"
#include "collector/drain/call_watches.h"
#include "collector/drain/drain.h"
#include "collector/drain/process_durations.h"
#include "collector/drain/process_locks.h"
#include "collector/drain/process_who.h"
#include "collector/drain/states_told.h"
#include "collector/drain/thread_notes.h"
#include "collector/heap/heap_files.h"
#include "collector/heap/process_heap.h"
#include "collector/names/modules.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/samples/cpu_samples.h"
#include "collector/samples/samples.h"
#include "collector/states/states.h"
#include "shared/atomic.h"

#define FORK_GRACE_NS 300000000

void process_reap_finish(struct process *process)
{
	const struct process_setup *setup = process_setup(process);
	const struct process_ending *ending = process_ending(process);
	struct recording *recording = setup->arena_setup->recording;
	struct process_heap *heap;
	bool instrumented =
		modules_instrumented(setup->modules) ||
		collect_options_add_calls(setup->collector->options);
	const struct collect_options *options;

	/* relaxed: a flag that is set once, and the program is gone */
	if (atom_load_rlx(&setup->arena_setup->page->flags) & PAGE_GAVE_UP) {
		static struct log_limit limit;

		if (setup->collector->recording)
			recording_refuse(
				setup->collector->recording, setup->pid,
				"it could not wait for an answer any longer");
		else
			log_limited(&limit, LOG_WARN,
				    "'%s' (pid %d) was not recorded: it could "
				    "not wait for an answer any longer",
				    setup->entry->name, (int)setup->pid);
	}
	process_notes_finish(process);
	process_locks_finish(process);
	process_durations_finish(process);
	call_watches_finish(process);
	heap = process_heap_end(process);
	if (heap)
		heap_files_finish(heap);
	options = setup->collector->options;
	if (options->cpu_hz && options->cpu_engine == CPU_SIGNAL) {
		/* relaxed: a count, and the program's word */
		if (atom_load_rlx(&setup->arena_setup->page->unsampled_threads))
			recording_note(setup->arena_setup->recording,
				       "not all threads have CPU samples: "
				       "there was no timer for them, or the "
				       "program uses SIGPROF");
	}
	if (modules_late_files(setup->modules))
		recording_note(recording,
			       "functions of some files have no names: it took "
			       "too long to read these files");
	recording_lock(recording);
	setup->entry->instrumented = instrumented;
	setup->entry->ended = ending->why;
	setup->entry->end_ns = ending->ns;
	recording_unlock(recording);
	process_done(process);
}

/* Returns true if a child of a process of @arena may still come and record. */
static bool is_child_awaited(const struct collector *collector,
			     struct arena *arena)
{
	int held;

	if (collector->closing || arena_is_off(arena))
		return false;
	held = arena_is_held(arena);
	if (held >= 0)
		return held;
	return arena_has_forked(arena) &&
	       clock_boottime_ns() - arena_idle_since(arena) < FORK_GRACE_NS;
}

static bool has_processes(struct arena *arena)
{
	bool some;

	arena_lock(arena);
	some = arena_first_process(arena);
	arena_unlock(arena);
	return some;
}

/* Sets whether the workers look at the slots of @arena for the last time: then
 * a process of a slot cannot be searched for later (process_meet.c). */
static void set_leaving(struct arena *arena, bool leaving)
{
	arena_lock(arena);
	arena_drain(arena)->leaving = leaving;
	arena_unlock(arena);
}

static bool is_arena_unused(struct collector *collector, struct arena *arena)
{
	struct drain *drain = collector->drain;

	if (has_processes(arena) || is_child_awaited(collector, arena)) {
		set_leaving(arena, false);
		return false;
	}
	if (!arena_drain(arena)->leaving) {
		set_leaving(arena, true);
		drain_note_rounds(drain, arena, &arena_drain(arena)->last_look);
		return false;
	}
	/* The processes found by the last look are in the list by then. */
	return drain_has_passed(drain, arena, &arena_drain(arena)->last_look) &&
	       !has_processes(arena);
}

void process_reap(struct collector *collector, arena_left *left)
{
	struct arena *arena, *next;
	struct process *process;

	while ((process = process_take_done(collector))) {
		struct process_parts *parts;
		struct samples *samples;

		process_unlist(process);
		parts = process_parts(process);
		samples = process_setup(process)->samples;
		states_process_end(process);
		process_who_end(&parts->who);
		process_heap_put(&parts->heap);
		async_slices_free(&parts->slices);
		if (samples)
			samples_put(&samples);
		process_free(process);
	}
	for (arena = collector->arenas; arena; arena = next) {
		next = arena_next(arena);
		if (!is_arena_unused(collector, arena))
			continue;
		arena_unlink(arena, &collector->arenas);
		left(collector, arena);
		cpu_group_free(&arena_change_setup(arena)->cpu);
		states_told(arena);
		states_end(arena);
		arena_control(arena, CONTROL_OFF);
		drain_remove(collector->drain, arena);
		arena_put(&arena);
	}
}
