/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/thread_figures.h"

#include "collector/base/clock.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/task_bases.h"
#include "collector/record/thread_state.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

/* User and system time in /proc may be too small by this much. */
#define TICK_NS UINT64_C(10000000)
/* A page fault takes at least this long. */
#define FAULT_NS 10

/* Sets *@times and *@ns (BOOTTIME of the figures) to the figures that the
 * thread of @slot wrote at its end, unchecked. Returns false if it wrote none.
 */
static bool read_told(const struct slot_shm *slot, struct task_times *times,
		      uint64_t *ns)
{
	/* order: acq, ENDTOLD: the figures are whole */
	uint32_t told = atom_load_acq(&slot->end_told);

	if (!(told & END_TOLD))
		return false;
	/* relaxed, all: ENDTOLD orders them */
	*ns = atom_load_rlx(&slot->end_ns);
	*times = (struct task_times){
		.on_cpu_ns = atom_load_rlx(&slot->end_cpu_ns),
		.delay_ns = atom_load_rlx(&slot->end_delay_ns),
		.user_ns = atom_load_rlx(&slot->end_user_ns),
		.system_ns = atom_load_rlx(&slot->end_system_ns),
		.minor_faults = atom_load_rlx(&slot->end_minor_faults),
		.major_faults = atom_load_rlx(&slot->end_major_faults),
		.has_delay = told & END_HAS_DELAY,
	};
	return true;
}

static bool is_between(uint64_t end, uint64_t base, uint64_t most)
{
	return end >= base && end - base <= most;
}

bool thread_figures_possible(const struct thread_end *end, uint64_t wall_ns)
{
	const struct task_times *times = &end->times, *base = &end->base;
	uint64_t cpu_ns = wall_ns + TICK_NS, faults = wall_ns / FAULT_NS;

	return is_between(times->on_cpu_ns, base->on_cpu_ns, cpu_ns) &&
	       is_between(times->delay_ns, base->delay_ns, cpu_ns) &&
	       is_between(times->on_cpu_ns - base->on_cpu_ns +
				  (times->delay_ns - base->delay_ns),
			  0, cpu_ns) &&
	       is_between(times->user_ns, base->user_ns, cpu_ns) &&
	       is_between(times->system_ns, base->system_ns, cpu_ns) &&
	       is_between(times->user_ns - base->user_ns +
				  (times->system_ns - base->system_ns),
			  0, cpu_ns) &&
	       is_between(times->minor_faults, base->minor_faults, faults) &&
	       is_between(times->major_faults, base->major_faults, faults);
}

bool thread_figures_end(const struct thread *thread, struct thread_end *out)
{
	struct recording *recording = thread->setup->arena_setup->recording;
	uint64_t start_ns = recording_setup(recording)->start_ns;
	uint64_t now_ns = clock_boottime_ns();
	const struct process_ending *ending;
	const struct process_setup *setup;

	if (!thread->setup->collector->options->sched)
		return false;
	/* Finds the figures at the start of the recording. A child's threads
	 * have none: their ids are new. */
	setup = thread->setup;
	out->base = (struct task_times){ 0 };
	out->has_base =
		setup->forked || task_bases_find(setup->arena_setup->bases,
						 thread->entry.tid, &out->base);
	if (read_told(thread->slot, &out->times, &out->ns) &&
	    out->ns >= start_ns && out->ns <= now_ns &&
	    thread_figures_possible(out, out->ns - start_ns))
		return true;
	out->ns = now_ns;
	/* After an exec, /proc has the figures of the new image. */
	ending = process_ending(thread->process);
	return thread->tid_known &&
	       (!ending || ending->why != PROCESS_EXECED) &&
	       !task_times_read(thread->setup->pid, thread->entry.tid,
				&out->times) &&
	       thread_figures_possible(out, now_ns - start_ns);
}

/* Adds the sums of the whole thread if the kernel reported no switches. The
 * rest of its time counts as blocked. */
static void add_thread_sums(struct thread *thread, const struct thread_end *end)
{
	struct thread_entry *entry = &thread->entry;
	bool was_there = end->base.on_cpu_ns;
	uint64_t start_ns =
		was_there ? thread->setup->entry->start_ns : thread->start_ns;
	uint64_t wall_ns = end->ns - MIN(end->ns, start_ns);

	if (entry->sched || !end->times.has_delay)
		return;
	entry->sums = true;
	entry->on_cpu_ns = end->times.on_cpu_ns - end->base.on_cpu_ns;
	entry->runnable_ns = end->times.delay_ns - end->base.delay_ns;
	/* The thread may have begun before its first record. */
	wall_ns = MAX(wall_ns, entry->on_cpu_ns + entry->runnable_ns);
	entry->blocked_ns = wall_ns - entry->on_cpu_ns - entry->runnable_ns;
	entry->sched_wall_ns = wall_ns;
}

void thread_figures_finish(struct thread *thread, const struct thread_end *end)
{
	struct thread_entry *entry = &thread->entry;

	if (!end || !end->has_base)
		return;
	add_thread_sums(thread, end);
	entry->figures = true;
	entry->user_ns = end->times.user_ns - end->base.user_ns;
	entry->system_ns = end->times.system_ns - end->base.system_ns;
	entry->minor_faults = end->times.minor_faults - end->base.minor_faults;
	entry->major_faults = end->times.major_faults - end->base.major_faults;
}
