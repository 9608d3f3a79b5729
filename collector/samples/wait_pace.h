/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_pace - when the poller of waits looks again, and how much it may read
 * then. Pure: one thread.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_WAIT_PACE_H
#define PERFREC_COLLECTOR_SAMPLES_WAIT_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* The poller may use 5 % of one CPU, and save up the budget of
 * WAIT_PACE_SAVED_NS. */
#define WAIT_PACE_PART 20u
#define WAIT_PACE_SAVED_NS UINT64_C(1000000000)
/* Limits of the time between two passes. */
#define WAIT_PACE_LEAST_NS 1000000u
#define WAIT_PACE_MOST_NS 50000000u

/* All zero before the first pass. */
struct wait_pace {
	uint64_t wall_ns, cpu_ns; /* at the end of the last pass */
	uint64_t active_ns; /* last time with switches */
	int64_t left_ns; /* CPU time left to use */
	uint64_t period_ns; /* 0: not chosen yet */
	uint64_t chosen_ns; /* time of the last choice */
	uint64_t long_ns, missed_ns; /* at the last choice */
};

/* Events until a pass. */
struct wait_pace_seen {
	bool active; /* threads were switched since the last pass */
	uint64_t long_ns, missed_ns; /* cpu_wait_sums */
};

/* Begins a pass at @wall_ns (MONOTONIC). The thread has used @cpu_ns of CPU
 * time. */
void wait_pace_begin(struct wait_pace *pace, uint64_t wall_ns, uint64_t cpu_ns);
/* Ends the pass, which found @seen. Returns the ns until the next one. */
uint64_t wait_pace_end(struct wait_pace *pace, uint64_t wall_ns,
		       uint64_t cpu_ns, const struct wait_pace_seen *seen);

#endif
