/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_sched - when the threads of a trace ran. For any time of a thread it
 * reports how long the thread was on a CPU, preempted, and waiting. The
 * switches of a time may be anywhere in the file, so all are read before the
 * calls. Memory is bounded for any trace, even a hostile one: switches without
 * room are unknown. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_SCHED_H
#define PERFREC_COLLECTOR_READ_TRACE_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/trace_packets.h"

struct trace_index;
struct trace_sched;

/* Parts of a time, ns. */
struct trace_sched_sums {
	uint64_t on_cpu;
	uint64_t preempted; /* runnable, while another thread ran */
	/* For something, and after the wakeup for a CPU: a trace does not have
	 * the time of the wakeup. */
	uint64_t waited;
	uint64_t unknown; /* before the first and after the last switch of the
			   * thread, and where switches are missing */
	uint64_t suspended; /* of a stack: the thread ran another one */
};

/*
 * Reads the switches of the trace at @path: with its @index, which may be NULL,
 * only the extents that have any. @progress may be NULL. Returns 0, and the
 * caller frees *@out with trace_sched_free(); *@out is NULL if the
 * trace has no switches. A truncated or damaged trace is read up to the damage.
 * Returns -errno of opening or reading the file, or -ENOMEM; then *@out is
 * unchanged. Logs nothing.
 */
int trace_sched_read(const char *path, const struct trace_index *index,
		     const struct read_progress *progress,
		     struct trace_sched **out);
/* Frees *@sched, which may be NULL, and clears it. */
void trace_sched_free(struct trace_sched **sched);

/* Returns the states of thread @tid from @from to @to (CLOCK_BOOTTIME). The sum
 * of all parts is @to - @from, or 0 if that is negative. */
struct trace_sched_sums trace_sched_between(const struct trace_sched *sched,
					    int64_t tid, uint64_t from,
					    uint64_t to);

/* The same for one stack of the thread, with the track @uuid, without the time
 * of other stacks. The parts are unknown where it switched often
 * (OUT_TRACK_SUSPENDED). */
struct trace_sched_sums trace_sched_of_stack(const struct trace_sched *sched,
					     uint64_t uuid, int64_t tid,
					     uint64_t from, uint64_t to);

/* A stretch of a thread on a CPU. */
struct trace_stretch {
	uint64_t from, to;
	uint32_t cpu;
	uint32_t why; /* enum trace_left, at the end */
};
/* Sets *@out to the stretches of thread @tid, sorted and disjoint. Returns
 * their number; 0 with *@out NULL if there are none. */
uint32_t trace_sched_stretches(const struct trace_sched *sched, int64_t tid,
			       const struct trace_stretch **out);

/* Return the number of switches that were read, and of stretches without
 * room. */
uint64_t trace_sched_switches(const struct trace_sched *sched);
uint64_t trace_sched_refused(const struct trace_sched *sched);

#endif
