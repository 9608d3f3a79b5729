/* SPDX-License-Identifier: Apache-2.0
 *
 * sched_track - follows the state of one thread through its kernel events, and
 * adds up its stretches as they lie between these events: docs/WAITS.md says
 * what they miss. One thread at a time; no memory, no I/O.
 */
#ifndef PERFREC_COLLECTOR_SCHED_SCHED_TRACK_H
#define PERFREC_COLLECTOR_SCHED_SCHED_TRACK_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_event;

enum sched_state {
	SCHED_NONE, /* nothing was told yet */
	SCHED_RUNS,
	SCHED_PREEMPTED, /* can run, and waits for a CPU */
	SCHED_BLOCKED,
	SCHED_UNKNOWN, /* records were lost */
	SCHED_ENDED,
};

/* Sums of stretches between events. */
struct sched_stretches {
	uint64_t on_ns, preempted_ns, blocked_ns, unknown_ns;
	uint64_t waits, preemptions; /* that have ended */
	uint64_t migrations;
};

/* What the kernel had counted of the thread, and when. */
struct sched_base {
	bool known;
	uint64_t on_ns, delay_ns;
	struct sched_stretches at; /* the sums at that time */
};

/* All zero: nothing was told. */
struct sched_track {
	enum sched_state state;
	bool has_cpu;
	bool fresh; /* it has not run yet since KERNEL_START */
	uint16_t cpu; /* of its last run */
	uint64_t begun_ns; /* when the first event was */
	uint64_t since_ns; /* of its state, or of the last look at it */
	uint64_t delay_ns; /* of the anchor that comes */
	struct sched_stretches sums;
	struct sched_base base; /* the last anchor */
};

/* What ended. */
struct sched_step {
	enum sched_state state; /* that it was in; SCHED_NONE: in none */
	uint64_t ns; /* for how long */
	bool came; /* it was off the CPU, and is there now */
	bool whole; /* and it had been there before: one switch */
	bool migrated; /* it runs on another CPU than before */
};

/* Takes in @event. A thread that is told of from its start on has counted
 * nothing then: that is an anchor, too. Two events that cannot follow each
 * other, such as two ends of running, mean that one between them was lost: that
 * time is unknown. Returns what ended; of an event that changes no state,
 * nothing. */
struct sched_step sched_track_apply(struct sched_track *track,
				    const struct kernel_event *event);
/* The thread is still in its state at @ns: returns the time since the last
 * look, which is added up, too. */
struct sched_step sched_track_look(struct sched_track *track, uint64_t ns);

#endif
