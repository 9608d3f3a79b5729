/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_figures - the kernel's counts for a recorded thread until its end:
 * written by the thread itself (slot_shm.end_...), or read from /proc while it
 * still exists. The slot's drain worker.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_FIGURES_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/task_times.h"

struct thread;

struct thread_end {
	/* Since the start of the thread, not of its recording. The state is 0
	 * if the thread wrote the figures. */
	struct task_times times;
	uint64_t ns; /* BOOTTIME of times */
	/* Figures at the start of the recording; all 0 if the thread began
	 * later. */
	struct task_times base;
	bool has_base; /* false: base is unknown */
};

/*
 * Sets *@out to the counts of @thread, which has ended or is no longer
 * recorded. Returns false if they are unknown: --sched is off, the thread was
 * killed and is gone, or its figures are impossible. If true, times are not
 * below base, and CPU time plus delay is not more than the time that has
 * passed. May read /proc, for 20 us.
 */
bool thread_figures_end(const struct thread *thread, struct thread_end *out);

/* Returns true if a thread with end->base can reach end->times within @wall_ns.
 * Needed because the program may write anything. Pure. */
bool thread_figures_possible(const struct thread_end *end, uint64_t wall_ns);

/* Copies user time, system time and faults to thread->entry; also running and
 * waiting times, unless thread_cpu_finish() has. @end: from
 * thread_figures_end(), or NULL: unknown. */
void thread_figures_finish(struct thread *thread, const struct thread_end *end);

#endif
