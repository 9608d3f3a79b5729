/* SPDX-License-Identifier: Apache-2.0
 *
 * sched_trace - drops a packet if the trace has no room: a hanging disk must
 * not block anybody. Then the switches of all CPUs are missing from there on,
 * and the next packets report that.
 *
 * A trace that stops at its size limit has calls of all threads up to the stop.
 * But switches are buffered here until one CPU has some hundred. So the
 * switches before the stop go to reserved space.
 */
#include "collector/samples/sched_trace.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/record/recording.h"
#include "collector/samples/perf_record.h"
#include "collector/trace/out_sched.h"
#include "collector/trace/trace_file.h"
#include "shared/compiler.h"

struct sched_trace {
	struct trace_file *file; /* the recording's */
	struct out_sched *out;
	uint32_t sequence;
	uint32_t cpus;
	bool left_out; /* a packet was dropped since the last record */
	bool ended; /* the trace has stopped, and has all until then */
};

static void append_packets(void *context, const void *packets, size_t bytes)
{
	struct sched_trace *trace = context;

	if (trace->ended)
		return;
	if (trace_file_admits(trace->file))
		trace_file_append_late(trace->file, trace->sequence, packets,
				       bytes);
	else
		trace->left_out = true;
}

int sched_trace_new(struct recording *recording, struct sched_trace **out)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct sched_trace *trace = calloc(1, sizeof(*trace));
	int err;

	if (!trace)
		return -ENOMEM;
	trace->file = recording_setup(recording)->trace;
	trace->sequence = recording_sequence(recording);
	trace->cpus = cpus > 0 ? (uint32_t)cpus : 1;
	err = out_sched_new(trace->cpus, trace->sequence, append_packets, trace,
			    &trace->out);
	if (err)
		free(trace);
	else
		*out = trace;
	return err;
}

void sched_trace_free(struct sched_trace **trace, uint64_t ns)
{
	struct sched_trace *old = *trace;

	*trace = NULL;
	if (!old)
		return;
	if (trace_file_stopped(old->file))
		ns = trace_file_last_ns(old->file);
	out_sched_end(old->out, ns);
	out_sched_free(&old->out);
	free(old);
}

void sched_trace_flush(struct sched_trace *trace)
{
	out_sched_flush(trace->out);
}

void sched_trace_lose(struct sched_trace *trace, int cpu, uint64_t ns)
{
	if (cpu >= 0)
		out_sched_lost(trace->out, (uint32_t)cpu, ns);
	for (uint32_t i = 0; cpu < 0 && i < trace->cpus; i++)
		out_sched_lost(trace->out, i, ns);
}

void sched_trace_gone(struct sched_trace *trace, int cpu, pid_t tid)
{
	if (cpu >= 0)
		out_sched_gone(trace->out, (uint32_t)cpu, tid);
	for (uint32_t i = 0; cpu < 0 && i < trace->cpus; i++)
		out_sched_gone(trace->out, i, tid);
}

void sched_trace_unknown(struct sched_trace *trace, int cpu, pid_t tid,
			 uint64_t ns)
{
	out_sched_unknown(trace->out, (uint32_t)cpu, ns, tid);
}

void sched_trace_take(struct sched_trace *trace,
		      const struct perf_record *record)
{
	uint32_t cpu = (uint32_t)record->cpu;

	if (trace->ended)
		return;
	if (unlikely(trace_file_stopped(trace->file) &&
		     record->ns > trace_file_last_ns(trace->file))) {
		out_sched_end(trace->out, trace_file_last_ns(trace->file));
		trace->ended = true;
		return;
	}
	if (unlikely(trace->left_out)) {
		trace->left_out = false;
		sched_trace_lose(trace, -1, record->ns);
	}
	if (record->type == PERF_RECORD_EXIT)
		out_sched_out(trace->out, cpu, record->ns, record->tid,
			      OUT_SCHED_ENDED);
	else if (record->out)
		out_sched_out(trace->out, cpu, record->ns, record->tid,
			      record->preempted ? OUT_SCHED_PREEMPTED
						: OUT_SCHED_BLOCKED);
	else
		out_sched_in(trace->out, cpu, record->ns, record->tid);
}
