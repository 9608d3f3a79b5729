/* SPDX-License-Identifier: Apache-2.0
 *
 * importer - what Perfetto's trace processor (v58.2) has in its tables after
 * reading the trace. Its importers of switches and of track descriptors were
 * read for this; README.md has the rules and the lines.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tests/tools/checker/trace.h"

static const char *name_of(const struct trace *trace, uint32_t number)
{
	return number ? trace->names.texts[number - 1] : "-";
}

/* The first event of a thread of process @pid; 0: there is none. */
static uint64_t first_event(const struct trace *trace, int32_t pid)
{
	uint64_t first = 0;

	for (uint32_t i = 0; i < trace->sequence_count; i++) {
		const struct sequence *at = &trace->sequences[i];
		const struct sequence *thread = trace_thread(trace, at);

		if (thread && thread->pid == pid && at->first_ns &&
		    (!first || at->first_ns < first))
			first = at->first_ns;
	}
	return first;
}

static void print_processes(const struct trace *trace)
{
	for (uint32_t i = 0; i < trace->process_count; i++) {
		const struct process *at = &trace->processes[i];

		printf("process\t%d\t%" PRIu64 "\t%" PRIu64 "\t%s\n", at->pid,
		       at->start_ns, first_event(trace, at->pid),
		       name_of(trace, at->name));
	}
}

static void print_threads(const struct trace *trace)
{
	const struct sched *sched = &trace->sched;
	struct table described = { 0 };

	for (uint32_t i = 0; i < trace->sequence_count; i++) {
		const struct sequence *at = &trace->sequences[i];

		if (!at->uuid || at->context)
			continue;
		*table_at(&described, (uint64_t)at->tid) = 1;
		printf("thread\t%" PRId64 "\t%d\t%s\n", at->tid, at->pid,
		       name_of(trace, at->thread_name));
	}
	/* The stretches are in the order of threads. */
	for (size_t i = 0; i < sched->count; i++) {
		int32_t tid = sched->stretches[i].tid;

		if ((!i || sched->stretches[i - 1].tid != tid) &&
		    !table_find(&described, (uint64_t)tid))
			printf("thread\t%d\t-\t-\n", tid);
	}
	table_release(&described);
}

void importer_print(const struct trace *trace)
{
	for (uint32_t i = 0; i < SCHED_CPUS; i++)
		if (trace->sched.cpus[i].lost)
			printf("loss\t%u\n", i);
	print_processes(trace);
	print_threads(trace);
	sched_print_states(&trace->sched);
}
