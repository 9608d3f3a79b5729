/* SPDX-License-Identifier: Apache-2.0
 *
 * off_times - off-CPU time of one thread: its length, the nodes of its
 * calling-context trees, and the waits for a CPU.
 *
 * Kernel events report when a thread left a CPU and came back. Two amounts lie
 * between these events: the kernel's own cost of the switch, and the time from
 * wake-up to running. Both are known only as sums, from the kernel's counts of
 * the thread (an anchor, KERNEL_ANCHOR). Between two anchors the stretches of
 * each node stay "open". An anchor settles them: the difference to the kernel's
 * sums is shared out evenly by switches, but no node gets more than its time
 * off the CPU. docs/WAITS.md has the measurements.
 *
 * Called by the drain worker of the thread, later by the thread that sums up.
 * Pure code.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_OFF_TIMES_H
#define PERFREC_COLLECTOR_REPLAY_OFF_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/replay/sched_track.h"

struct cct;
struct cct_kernel;
struct cct_node;
struct kernel_event;

/* Times of the whole thread so far. */
struct off_sums {
	uint64_t on_ns, runnable_ns, blocked_ns, unknown_ns;
	uint64_t spread_ns; /* part of these that is shared out, not measured */
	uint64_t stolen_ns; /* running by the events but not by the kernel's
			     * counts: the host took the CPU */
};

struct off_times {
	struct sched_track track;
	struct cct_kernel *open;
	struct off_sums sums; /* of settled stretches */
};

struct off_place {
	struct cct *cct;
	struct cct_node *node;
};

/* Starts with @before, the sum of all events so far. The thread was in no span
 * then, so @place is the root of its tree. */
void off_times_begin(struct off_times *off, const struct sched_track *before,
		     const struct off_place *place);
/* Applies @event. @place is the thread's position at that time. */
void off_times_event(struct off_times *off, const struct kernel_event *event,
		     const struct off_place *place);
/* Adds the time until @ns in the state of the last event. */
void off_times_look(struct off_times *off, uint64_t ns,
		    const struct off_place *place);
/* Settles the open stretches by the kernel's counts at the last look: @on_ns on
 * CPUs, @delay_ns in run queues. */
void off_times_settle(struct off_times *off, uint64_t on_ns, uint64_t delay_ns);
/* Settles the open stretches as measured, at the end of the thread's data. */
void off_times_close(struct off_times *off);
/* Returns the thread's time on CPUs until @ns, as measured. @ns is not before
 * the last event. Sets *@unknown_ns to the unknown part. */
uint64_t off_times_on_ns(const struct off_times *off, uint64_t ns,
			 uint64_t *unknown_ns);

#endif
