/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/trace_switches.h"

#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* The lists of a CompactSched, each in one piece. */
static void take_lists(struct trace_switches *switches, struct wire sched)
{
	struct wire_field field;

	while (wire_next(&sched, &field))
		switch (field.tag) {
		case TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP:
			switches->times = wire_of(&field);
			break;
		case TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_PREV_STATE:
			switches->states = wire_of(&field);
			break;
		case TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_PID:
			switches->threads = wire_of(&field);
			break;
		}
}

void trace_switches_begin(struct trace_switches *switches, struct wire bundle)
{
	const struct wire none = { NULL, NULL };
	struct wire_field field;
	uint64_t cpu = UINT64_MAX;

	switches->times = switches->states = switches->threads = none;
	switches->ns = 0;
	switches->lost = false;
	while (wire_next(&bundle, &field))
		switch (field.tag) {
		case TAG_FTRACE_EVENT_BUNDLE_CPU:
			cpu = field.value;
			break;
		case TAG_FTRACE_EVENT_BUNDLE_LOST_EVENTS:
			switches->lost = field.value != 0;
			break;
		case TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED:
			take_lists(switches, wire_of(&field));
			break;
		}
	if (cpu < TRACE_CPUS_MAX) {
		switches->cpu = (uint32_t)cpu;
	} else {
		switches->times = none;
		switches->bad++;
	}
}

enum trace_left trace_left_of(uint64_t state)
{
	switch (state) {
	case SCHED_STATE_RUNS:
	case SCHED_STATE_PREEMPTED:
		return TRACE_LEFT_PREEMPTED;
	case SCHED_STATE_SLEEPS:
		return TRACE_LEFT_WAITS;
	case SCHED_STATE_DEAD:
		return TRACE_LEFT_ENDED;
	default:
		return TRACE_LEFT_UNKNOWN;
	}
}

bool trace_switches_next(struct trace_switches *switches,
			 struct trace_switch *out)
{
	struct switches_cpu *cpu = &switches->cpus[switches->cpu];
	uint64_t step, state, thread;

	if (switches->times.at == switches->times.end)
		return false;
	if (unlikely(!wire_varint(&switches->times, &step) ||
		     !wire_varint(&switches->states, &state) ||
		     !wire_varint(&switches->threads, &thread) ||
		     thread > INT32_MAX)) {
		switches->times.at = switches->times.end;
		switches->bad++;
		return false;
	}
	switches->ns += step;
	/* A hostile file may step back. */
	cpu->last_ns = MAX(cpu->last_ns, switches->ns);
	*out = (struct trace_switch){
		.ns = cpu->last_ns,
		.cpu = switches->cpu,
		.left = cpu->running,
		.came = (int32_t)thread,
		.why = trace_left_of(state),
		.lost = switches->lost,
	};
	cpu->running = out->came;
	switches->lost = false;
	switches->count++;
	return true;
}

void trace_switches_pass(struct trace_switches *switches,
			 const struct trace_switch *at)
{
	struct switches_cpu *cpu = &switches->cpus[at->cpu];

	cpu->last_ns = MAX(cpu->last_ns, at->ns);
	cpu->running = at->came;
}
