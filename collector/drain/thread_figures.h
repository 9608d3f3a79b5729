/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_figures - what the kernel has counted for a recorded thread until its
 * end: as the thread has told itself (slot_shm.end_...), or as /proc says if it
 * is still to be seen. The slot's drain worker.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_FIGURES_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/task_times.h"

struct thread;

struct thread_end {
	/* Since the thread began, not since it is recorded. The state is 0 if
	 * the thread has told it. */
	struct task_times times;
	uint64_t ns; /* BOOTTIME: when that was so */
	struct task_times base; /* the same when the recording began; all 0 if
				 * the thread began later */
	bool has_base; /* false: nobody knows base */
};

/*
 * Sets *@out to what @thread, which is gone or recorded no more, has had.
 * False: nobody knows, as nobody has asked (--sched off), as it was killed and
 * is gone, or as what it told cannot be. True: times are not below base, and
 * the time on CPUs and without them is not more than has gone by. May read
 * /proc, for 20 us.
 */
bool thread_figures_end(const struct thread *thread, struct thread_end *out);

/* Whether a thread may have had end->times, with end->base before, if @wall_ns
 * of time were between. The program may say anything. Pure. */
bool thread_figures_possible(const struct thread_end *end, uint64_t wall_ns);

/* Puts user and system time and faults into thread->entry; and how long it ran
 * and waited, unless thread_cpu_finish() has. @end: as that has set it; NULL:
 * nobody knows. */
void thread_figures_finish(struct thread *thread, const struct thread_end *end);

#endif
