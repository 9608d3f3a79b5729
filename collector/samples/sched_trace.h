/* SPDX-License-Identifier: Apache-2.0
 *
 * sched_trace - puts the switches of the threads of one recording into its
 * trace: which thread ran on which CPU. All calls are made under a lock of the
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
 * sched_trace_free(). 0 or -ENOMEM. */
int sched_trace_new(struct recording *recording, struct sched_trace **out);
/* What is on a CPU leaves it at @ns (BOOTTIME), and all is handed to the trace.
 * Also for NULL. */
void sched_trace_free(struct sched_trace **trace, uint64_t ns);

/* All that was taken in is handed to the trace. */
void sched_trace_flush(struct sched_trace *trace);

/* Thread @tid, which the trace has on @cpu (-1: on any), is not there, or has
 * come there anew: what it did meanwhile was not told. */
void sched_trace_gone(struct sched_trace *trace, int cpu, pid_t tid);
/* The state of thread @tid is unknown from @ns on. It is on @cpu, or was there
 * last. */
void sched_trace_unknown(struct sched_trace *trace, int cpu, pid_t tid,
			 uint64_t ns);
/* Takes in a SWITCH or an EXIT of a thread of the recording. */
void sched_trace_take(struct sched_trace *trace,
		      const struct perf_record *record);
/* Records of @cpu, or of all CPUs (-1), are missing from @ns on. */
void sched_trace_lose(struct sched_trace *trace, int cpu, uint64_t ns);

#endif
