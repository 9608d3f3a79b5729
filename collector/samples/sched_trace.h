/* SPDX-License-Identifier: Apache-2.0
 *
 * sched_trace - writes the switches of the threads of one recording to its
 * trace: the running thread of each CPU. All calls are made under a lock of the
 * caller's; none of them waits.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_SCHED_TRACE_H
#define PERFREC_COLLECTOR_SAMPLES_SCHED_TRACE_H

#include <stdint.h>
#include <sys/types.h>

struct perf_record;
struct recording;
struct sched_trace;

/* Makes *@out for @recording, which must outlive it. The caller ends it with
 * sched_trace_free(). Returns 0 or -ENOMEM. */
int sched_trace_new(struct recording *recording, struct sched_trace **out);
/* Ends the running stretches at @ns (BOOTTIME), and submits all packets to the
 * trace. Accepts NULL. */
void sched_trace_free(struct sched_trace **trace, uint64_t ns);

/* Submits all packets to the trace. */
void sched_trace_flush(struct sched_trace *trace);

/* Corrects thread @tid, which the trace has on @cpu (-1: any): it is gone, or
 * has come there anew. The records in between are missing. */
void sched_trace_gone(struct sched_trace *trace, int cpu, pid_t tid);
/* Makes the state of thread @tid unknown from @ns on; @cpu is its current or
 * last CPU. */
void sched_trace_unknown(struct sched_trace *trace, int cpu, pid_t tid,
			 uint64_t ns);
/* Handles a SWITCH or an EXIT of a thread of the recording. */
void sched_trace_take(struct sched_trace *trace,
		      const struct perf_record *record);
/* Notes that records of @cpu (-1: of all CPUs) are missing from @ns on. */
void sched_trace_lose(struct sched_trace *trace, int cpu, uint64_t ns);

#endif
