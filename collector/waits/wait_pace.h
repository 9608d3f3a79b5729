/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_pace - when the poller of waits looks again, and how much it may read
 * then. Pure: one thread.
 */
#ifndef PERFREC_COLLECTOR_WAITS_WAIT_PACE_H
#define PERFREC_COLLECTOR_WAITS_WAIT_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* The poller has 5 % of one CPU, and that of so much time at once. */
#define WAIT_PACE_PART 20u
#define WAIT_PACE_SAVED_NS UINT64_C(1000000000)
/* Between two passes. */
#define WAIT_PACE_LEAST_NS 1000000u
#define WAIT_PACE_MOST_NS 50000000u

/* All zero before the first pass. */
struct wait_pace {
	uint64_t wall_ns, cpu_ns; /* at the end of the last pass */
	uint64_t active_ns; /* when something was last seen to happen */
	int64_t left_ns; /* CPU time that it may use */
	uint64_t period_ns; /* 0: not chosen yet */
	uint64_t chosen_ns; /* when that was */
	uint64_t long_ns, missed_ns; /* as they were then */
};

/* What has happened until a pass. */
struct wait_pace_seen {
	bool active; /* threads were switched since the last one */
	uint64_t long_ns, missed_ns; /* cpu_wait_sums */
};

/* A pass begins at @wall_ns (MONOTONIC), while the thread has had @cpu_ns of
 * CPU time. */
void wait_pace_begin(struct wait_pace *pace, uint64_t wall_ns, uint64_t cpu_ns);
/* It has ended, and has found what @seen says. Returns in how many ns the next
 * one is due. */
uint64_t wait_pace_end(struct wait_pace *pace, uint64_t wall_ns,
		       uint64_t cpu_ns, const struct wait_pace_seen *seen);

#endif
