/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/cut/cut_sched.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/read/trace_switches.h"
#include "collector/trace/out_sched.h"

struct sched_cpu {
	int32_t running; /* 0: none of the recording */
	uint32_t range; /* the one that it is in, or that comes next */
	bool inside;
	bool lost; /* switches are missing since the last one */
};

struct cut_sched {
	const struct cut_ranges *ranges;
	struct cut_file *file;
	cut_sched_has *has;
	void *context;
	struct out_sched *out; /* NULL: nothing was taken yet */
	struct trace_switches switches;
	struct sched_cpu cpus[TRACE_CPUS_MAX];
};

int cut_sched_new(const struct cut_ranges *ranges, struct cut_file *file,
		  cut_sched_has *has, void *context, struct cut_sched **out)
{
	struct cut_sched *sched = calloc(1, sizeof(*sched));

	if (!sched)
		return -ENOMEM;
	sched->ranges = ranges;
	sched->file = file;
	sched->has = has;
	sched->context = context;
	*out = sched;
	return 0;
}

void cut_sched_free(struct cut_sched **sched)
{
	if (*sched)
		out_sched_free(&(*sched)->out);
	free(*sched);
	*sched = NULL;
}

static void put_switches(void *context, const void *packets, size_t bytes)
{
	cut_file_put(context, packets, bytes);
}

/* --- one CPU ---------------------------------------------------------------
 */

static bool is_shown(struct cut_sched *sched, int32_t tid)
{
	return tid && sched->has(sched->context, tid);
}

static void begin_range(struct cut_sched *sched, uint32_t cpu)
{
	struct sched_cpu *at = &sched->cpus[cpu];
	uint64_t ns = sched->ranges->at[at->range].from;

	at->inside = true;
	if (at->lost)
		out_sched_lost(sched->out, cpu, ns);
	else if (is_shown(sched, at->running))
		out_sched_in(sched->out, cpu, ns, at->running);
}

static void end_range(struct cut_sched *sched, uint32_t cpu, uint64_t ns)
{
	struct sched_cpu *at = &sched->cpus[cpu];

	at->inside = false;
	at->range++;
	if (is_shown(sched, at->running) && !at->lost)
		out_sched_out(sched->out, cpu, ns, at->running,
			      OUT_SCHED_UNKNOWN);
}

/* The next switch of @cpu is at @ns: begins and ends ranges up to it. */
static void advance(struct cut_sched *sched, uint32_t cpu, uint64_t ns)
{
	const struct cut_ranges *ranges = sched->ranges;
	struct sched_cpu *at = &sched->cpus[cpu];

	while (at->range < ranges->count && ranges->at[at->range].to <= ns) {
		if (!at->inside)
			begin_range(sched, cpu);
		end_range(sched, cpu, ranges->at[at->range].to);
	}
	if (at->range < ranges->count && ranges->at[at->range].from <= ns &&
	    !at->inside)
		begin_range(sched, cpu);
}

static enum out_sched_left left_of(enum trace_left why)
{
	switch (why) {
	case TRACE_LEFT_PREEMPTED:
		return OUT_SCHED_PREEMPTED;
	case TRACE_LEFT_WAITS:
		return OUT_SCHED_BLOCKED;
	case TRACE_LEFT_ENDED:
		return OUT_SCHED_ENDED;
	default:
		return OUT_SCHED_UNKNOWN;
	}
}

static void take_switch(struct cut_sched *sched, const struct trace_switch *at)
{
	struct sched_cpu *cpu = &sched->cpus[at->cpu];

	advance(sched, at->cpu, at->ns);
	cpu->running = at->came;
	cpu->lost = at->lost;
	if (!cpu->inside)
		return;
	if (at->lost) {
		out_sched_lost(sched->out, at->cpu, at->ns);
		return;
	}
	if (is_shown(sched, at->left))
		out_sched_out(sched->out, at->cpu, at->ns, at->left,
			      left_of(at->why));
	if (is_shown(sched, at->came))
		out_sched_in(sched->out, at->cpu, at->ns, at->came);
}

bool cut_sched_take(struct cut_sched *sched, uint32_t sequence,
		    struct wire bundle)
{
	struct trace_switch next;

	if (!sched->out &&
	    out_sched_new(OUT_SCHED_CPUS_MAX, sequence ? sequence : 1,
			  put_switches, sched->file, &sched->out))
		return false;
	trace_switches_begin(&sched->switches, bundle);
	while (trace_switches_next(&sched->switches, &next))
		take_switch(sched, &next);
	return true;
}

/* A range that goes on when the trace ends is over then. */
static void end_cpu(struct cut_sched *sched, uint32_t cpu, uint64_t ns)
{
	const struct cut_ranges *ranges = sched->ranges;
	struct sched_cpu *at = &sched->cpus[cpu];

	advance(sched, cpu, ns);
	if (at->range < ranges->count && at->inside)
		end_range(sched, cpu, ns);
}

void cut_sched_end(struct cut_sched *sched, uint64_t ns)
{
	if (!sched->out)
		return;
	for (uint32_t i = 0; i < TRACE_CPUS_MAX; i++)
		end_cpu(sched, i,
			ns > sched->switches.cpus[i].last_ns
				? ns
				: sched->switches.cpus[i].last_ns);
	out_sched_flush(sched->out);
}
