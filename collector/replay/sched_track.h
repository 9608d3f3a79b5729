/* SPDX-License-Identifier: Apache-2.0
 *
 * sched_track - the scheduler state of one thread, followed through its kernel
 * events, and the sums of its stretches as these events show them.
 * docs/WAITS.md describes what the sums miss. One thread at a time; no memory,
 * no I/O.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_SCHED_TRACK_H
#define PERFREC_COLLECTOR_REPLAY_SCHED_TRACK_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_event;

enum sched_state {
	SCHED_NONE,
	SCHED_RUNS,
	SCHED_PREEMPTED, /* runnable, waits for a CPU */
	SCHED_BLOCKED,
	SCHED_UNKNOWN,
	SCHED_ENDED,
};

/* Sums of stretches between events. */
struct sched_stretches {
	uint64_t on_ns, preempted_ns, blocked_ns, unknown_ns;
	uint64_t waits, preemptions;
	uint64_t migrations;
};

struct sched_base {
	bool known;
	uint64_t on_ns, delay_ns;
	struct sched_stretches at;
};

struct sched_track {
	enum sched_state state;
	bool has_cpu;
	bool fresh; /* has not run since KERNEL_START */
	uint16_t cpu; /* of the last run */
	uint64_t begun_ns;
	uint64_t since_ns;
	uint64_t delay_ns; /* of the coming anchor */
	struct sched_stretches sums;
	struct sched_base base;
};

/* A stretch that an event or a look has ended. */
struct sched_step {
	enum sched_state state; /* state during the stretch; SCHED_NONE: no
				 * stretch */
	uint64_t ns;
	bool came; /* the thread came back to a CPU */
	bool whole; /* and had run before, so this completes one switch */
	bool migrated; /* it runs on another CPU than before */
};

/* Applies @event. A thread that is known from its start has a first anchor of 0
 * there. If two events cannot follow each other, such as two ends of running,
 * an event between them was lost and the time between them is unknown. After the
 * end of the thread events change nothing: records of other threads may be lost
 * then. Returns the stretch that ended, or an empty one if the event changes no
 * state. */
struct sched_step sched_track_apply(struct sched_track *track,
				    const struct kernel_event *event);
/* Adds the time until @ns in the current state to the sums, and returns it as a
 * stretch. */
struct sched_step sched_track_look(struct sched_track *track, uint64_t ns);

#endif
