/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_sched - where the threads of a trace ran, and what they did between:
 * for any time of a thread, how much of it was on a CPU, preempted, and
 * waiting. The switches of a time may stand anywhere in the file, so they are
 * read before the calls. Memory is bounded, however large or hostile the trace
 * is: what finds no room is not known. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_SCHED_H
#define PERFREC_COLLECTOR_READ_TRACE_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/trace_packets.h"

struct trace_sched;

/* Parts of a time, ns. */
struct trace_sched_sums {
	uint64_t on_cpu;
	uint64_t preempted; /* it would have run, and another thread did */
	/* For something; and then, woken, for a CPU: a trace does not say when
	 * that began. */
	uint64_t waited;
	uint64_t unknown; /* before the first switch of the thread, after its
			   * last one, and where switches are missing */
};

/*
 * Reads the switches of the trace at @path. @progress may be NULL. Returns 0;
 * the caller then owns *@out and ends it by trace_sched_free(). *@out is NULL:
 * the trace has none. What is cut or damaged is read as far as it goes. Or
 * returns -errno of opening the file or for want of memory; then *@out is as it
 * was. Logs nothing.
 */
int trace_sched_read(const char *path, const struct read_progress *progress,
		     struct trace_sched **out);
/* Frees *@sched, which may be NULL, and clears it. */
void trace_sched_free(struct trace_sched **sched);

/* What thread @tid did from @from to @to (CLOCK_BOOTTIME): all parts together
 * are @to - @from, or 0 if that is negative. */
struct trace_sched_sums trace_sched_between(const struct trace_sched *sched,
					    int64_t tid, uint64_t from,
					    uint64_t to);

/* A stretch of a thread on a CPU. */
struct trace_stretch {
	uint64_t from, to;
	uint32_t cpu;
	uint32_t why; /* enum trace_left: what the thread did then */
};
/* The stretches of thread @tid in the order of time; none touches another's
 * inside. Returns how many there are, 0 with *@out NULL if there are none. */
uint32_t trace_sched_stretches(const struct trace_sched *sched, int64_t tid,
			       const struct trace_stretch **out);

/* How many switches were read, and how many stretches found no room. */
uint64_t trace_sched_switches(const struct trace_sched *sched);
uint64_t trace_sched_refused(const struct trace_sched *sched);

#endif
