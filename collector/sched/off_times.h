/* SPDX-License-Identifier: Apache-2.0
 *
 * off_times - the time of one thread off the CPU: how long, in which nodes of
 * its calling-context trees, and how much of it was waiting for a CPU.
 *
 * Events of the kernel tell when a thread left a CPU and came back. What the
 * kernel charges the thread for switching lies between these, and so does the
 * time from its wake-up until it runs. Both are known as sums, by what the
 * kernel counts of the thread (an anchor, KERNEL_ANCHOR). From one anchor to
 * the next the stretches of each node are kept apart ("open"); an anchor
 * settles them: what the sums have beyond the stretches is shared out, evenly
 * by switches, but to no node more than it was off the CPU. docs/WAITS.md has
 * the figures behind this.
 *
 * The drain worker of the thread, then whoever sums it up. Pure code.
 */
#ifndef PERFREC_COLLECTOR_SCHED_OFF_TIMES_H
#define PERFREC_COLLECTOR_SCHED_OFF_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/sched/sched_track.h"

struct cct;
struct cct_kernel;
struct cct_node;
struct kernel_event;

/* Of the whole thread, until now. */
struct off_sums {
	uint64_t on_ns, runnable_ns, blocked_ns, unknown_ns;
	uint64_t spread_ns; /* of these: shared out, not measured */
	uint64_t stolen_ns; /* it ran by the events, and did not by what the
			     * kernel counted: the host took the CPU */
};

/* All zero before off_times_begin(). */
struct off_times {
	struct sched_track track;
	struct cct_kernel *open; /* list by next_open */
	struct off_sums sums; /* of what is settled */
};

/* The span that is open, and the tree it is in. */
struct off_place {
	struct cct *cct;
	struct cct_node *node;
};

/* Everything until now is in @before; the thread was in no span then, @place is
 * the root of its tree. */
void off_times_begin(struct off_times *off, const struct sched_track *before,
		     const struct off_place *place);
/* Takes in @event; @place is where the thread was at that time. */
void off_times_event(struct off_times *off, const struct kernel_event *event,
		     const struct off_place *place);
/* The thread is as it was at its last event until @ns: adds the time so far. */
void off_times_look(struct off_times *off, uint64_t ns,
		    const struct off_place *place);
/* The kernel has counted @on_ns and @delay_ns of the thread at the last look.
 */
void off_times_settle(struct off_times *off, uint64_t on_ns, uint64_t delay_ns);
/* Nothing more is known: takes what is open as it lies. */
void off_times_close(struct off_times *off);
/* How long the thread was on a CPU until @ns, which is not before the last
 * event; by stretches. Sets *@unknown_ns to how long that is not known. */
uint64_t off_times_on_ns(const struct off_times *off, uint64_t ns,
			 uint64_t *unknown_ns);

#endif
