/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_cpu - a sample belongs to the innermost span at its time, and so does
 * the time off the CPU that begins then. The kernel writes its record while the
 * thread stands still. So a reader of the ring's head, and then of the kernel's
 * buffers, knows all events older than any record below that head. Replay then
 * stops where the clock of the records passes the time of an event. Doubling
 * and halving finds that place, so replay itself pays nothing.
 *
 * A thread records nothing while it is off the CPU: the whole time belongs to
 * the span that was open when it left. If records of the kernel were lost, the
 * thread may have run meanwhile. So replay goes record by record there, and the
 * time between two records is unknown.
 *
 * Data cells of an extended record have no clock of their own (record_ext.h). A
 * cell whose clock is not between the clocks around it counts as data and is
 * skipped. If data happens to look like a clock, an event may be counted a few
 * records off, and a cut may fall into a record: fibers_run() then leaves that
 * record whole.
 */
#include "collector/samples/thread_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/thread_state.h"
#include "collector/replay/cct.h"
#include "collector/replay/cct_kernel.h"
#include "collector/replay/clock_sync.h"
#include "collector/replay/kernel_event.h"
#include "collector/replay/off_times.h"
#include "collector/samples/cpu_samples.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"

/* Timer overruns that one sample counts at most: a thread may have stood still
 * for long. */
#define OVERRUNS_MAX (1ULL << 20)

#define THREAD_EVENTS 256

struct thread_cpu {
	struct clock_segment segment; /* of the clock, from the last lookup */
	struct off_times off;
	bool begun;
	bool settled; /* off has ended: calls and states are complete */
	uint64_t blocked_ns; /* start of its wait; 0: none, or unknown */
	struct thread_waker waker; /* of that wait */
	uint32_t first, count; /* of event */
	struct kernel_event event[THREAD_EVENTS]; /* not counted yet */
};

static struct cpu_group *cpu_group_of(const struct thread *thread)
{
	return thread->setup->arena_setup->cpu;
}

bool thread_cpu_begin(struct thread *thread)
{
	if (!thread->cpu && cpu_group_of(thread) && thread->tid_known)
		thread->cpu = calloc(1, sizeof(*thread->cpu));
	return thread->cpu;
}

void thread_cpu_own(struct replay *replay, const struct record *cells,
		    size_t count)
{
	struct record_sample sample;

	if ((count - 1) * sizeof(*cells) < sizeof(sample))
		return;
	memcpy(&sample, cells + 1, sizeof(sample));
	replay_top_node(replay)->cpu_samples +=
		MIN(sample.weight, OVERRUNS_MAX);
}

static struct off_place place_now(const struct thread *thread)
{
	struct replay *replay = fibers_current(&thread->fibers);

	return (struct off_place){ replay_tree(replay),
				   replay_top_node(replay) };
}

static void follow_wait(struct thread *thread, const struct kernel_event *event)
{
	struct thread_cpu *cpu = thread->cpu;
	const struct thread_wait wait = {
		.from_ns = cpu->blocked_ns,
		.to_ns = event->ns,
		.object = (const char *)(uintptr_t)event->value,
		.call = event->call,
		.waker = cpu->waker,
	};

	switch (event->kind) {
	case KERNEL_BLOCKED:
		cpu->blocked_ns = event->ns;
		return;
	case KERNEL_DELAY:
	case KERNEL_ANCHOR:
		return;
	case KERNEL_START:
		if (thread->told_start)
			thread->told_start(thread, event->ns,
					   (pid_t)event->value);
		break;
	case KERNEL_WOKEN:
		cpu->waker = (struct thread_waker){
			.name = (const char *)(uintptr_t)event->value,
			.ns = event->ns,
			.tid = (pid_t)event->call,
		};
		return;
	case KERNEL_IN:
		if (wait.from_ns && thread->told_wait)
			thread->told_wait(thread, &wait);
		break;
	default:
		break;
	}
	cpu->blocked_ns = 0;
	cpu->waker = (struct thread_waker){ 0 };
}

static void count_first_event(struct thread *thread)
{
	struct thread_cpu *cpu = thread->cpu;
	const struct kernel_event *event = &cpu->event[cpu->first];
	const struct off_place place = place_now(thread);
	struct kernel_counts *counts;

	cpu->first++;
	cpu->count--;
	switch (event->kind) {
	case KERNEL_TICK:
		place.node->cpu_samples += event->value;
		if (event->flag)
			cct_kernel_of(place.cct, place.node)
				->counts.kernel_samples += event->value;
		return;
	case KERNEL_FAULT:
	case KERNEL_COUNTER:
		counts = &cct_kernel_of(place.cct, place.node)->counts;
		if (event->kind == KERNEL_FAULT)
			counts->faults += event->value;
		else if (event->flag < KERNEL_COUNTERS_MAX)
			counts->counter[event->flag] += event->value;
		return;
	default:
		if (cpu->settled)
			return;
		follow_wait(thread, event);
		off_times_event(&cpu->off, event, &place);
	}
}

/* Takes more events from the group, once all taken ones are counted. */
static void take_more_events(struct thread *thread)
{
	struct thread_cpu *cpu = thread->cpu;
	struct sched_track before = { 0 };

	if (cpu->count)
		return;
	cpu->first = 0;
	cpu->count = (uint32_t)cpu_take(cpu_group_of(thread), thread->entry.tid,
					thread->start_ns, cpu->event,
					THREAD_EVENTS, &before);
	if (!cpu->begun && cpu->count) {
		const struct off_place root = {
			replay_tree(thread->replay),
			replay_tree(thread->replay)->root
		};

		cpu->begun = true;
		/* No CPU for seconds: the spans of old events are unknown. */
		if (before.since_ns > thread->start_ns) {
			before = (struct sched_track){
				.state = SCHED_UNKNOWN,
				.begun_ns = thread->start_ns,
				.since_ns = thread->start_ns,
				.base = before.base,
			};
			before.base.at = (struct sched_stretches){ 0 };
		}
		if (before.state == SCHED_BLOCKED)
			cpu->blocked_ns = before.since_ns;
		off_times_begin(&cpu->off, &before, &root);
	}
}

void thread_cpu_fetch(struct thread *thread)
{
	cpu_pull(cpu_group_of(thread));
	take_more_events(thread);
}

static void count_events_upto(struct thread *thread, uint64_t ns)
{
	struct thread_cpu *cpu = thread->cpu;

	while (cpu->count && cpu->event[cpu->first].ns <= ns) {
		count_first_event(thread);
		take_more_events(thread);
	}
}

void thread_cpu_look(struct thread *thread, uint64_t ns)
{
	const struct off_place place = place_now(thread);

	if (thread->cpu)
		off_times_look(&thread->cpu->off, ns, &place);
}

bool thread_cpu_on_ns(struct thread *thread, uint64_t ns, uint64_t *on_ns,
		      uint64_t *unknown_ns)
{
	const struct thread_cpu *cpu = thread->cpu;

	if (!cpu || cpu->off.track.state == SCHED_NONE)
		return false;
	*on_ns = off_times_on_ns(&cpu->off, ns, unknown_ns);
	return true;
}

static uint64_t sample_clock_to_ns(struct thread *thread, uint64_t clock)
{
	struct thread_cpu *cpu = thread->cpu;

	if (thread->setup->arena_setup->clock != WIRE_CLOCK_TSC)
		return clock;
	if (!clock_segment_has(&cpu->segment, clock))
		clock_sync_segment(thread->setup->collector->clock, clock,
				   &cpu->segment);
	return clock_segment_ns(&cpu->segment, clock);
}

static uint64_t record_clock(const struct record *cells, size_t i)
{
	/* relaxed: HEAD orders it; the value only decides where to cut */
	return atom_load_rlx(&cells[i].clock);
}

static size_t find_not_older(struct thread *thread, const struct record *cells,
			     size_t count, uint64_t ns)
{
	size_t low = 0, high = count; /* low is older, high is not */
	uint64_t low_clock = record_clock(cells, 0), high_clock = UINT64_MAX;

	/* The next event is usually near. */
	for (size_t at = 1; at < count; at *= 2) {
		uint64_t clock = record_clock(cells, at);

		if (clock >= low_clock &&
		    sample_clock_to_ns(thread, clock) >= ns) {
			high = at;
			high_clock = clock;
			break;
		}
		if (clock >= low_clock) {
			low = at;
			low_clock = clock;
		}
	}

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2, at = middle;
		uint64_t clock = record_clock(cells, at);

		while (at + 1 < high &&
		       (clock < low_clock || clock > high_clock))
			clock = record_clock(cells, ++at);
		if (clock < low_clock || clock > high_clock) {
			/* All cells up to high are data. */
			high = middle;
		} else if (sample_clock_to_ns(thread, clock) < ns) {
			low = at;
			low_clock = clock;
		} else {
			high = middle;
			high_clock = clock;
		}
	}
	return high;
}

size_t thread_cpu_split(struct thread *thread, const struct record *cells,
			size_t count)
{
	struct thread_cpu *cpu = thread->cpu;
	/* relaxed: as in record_clock() */
	uint64_t word = atom_load_rlx(&cells->word);
	size_t least = 1, upto = count;
	uint64_t ns = sample_clock_to_ns(thread, record_clock(cells, 0));

	count_events_upto(thread, ns);
	if (cpu->off.track.state == SCHED_UNKNOWN) {
		thread_cpu_look(thread, ns);
		upto = 1;
	} else if (cpu->count) {
		upto = find_not_older(thread, cells, count,
				      cpu->event[cpu->first].ns);
	}
	if (record_kind(word) == RECORD_EXT)
		least += record_ext_cells(word);
	return MIN(MAX(upto, least), count);
}

void thread_cpu_count(struct thread *thread, uint64_t ns)
{
	thread_cpu_fetch(thread);
	count_events_upto(thread, ns);
}

static uint64_t last_record_ns(const struct thread *thread)
{
	return replay_last_ns(fibers_current(&thread->fibers));
}

void thread_cpu_lose_end(struct thread *thread)
{
	struct off_times *off = &thread->cpu->off;
	const struct kernel_event unknown = { .kind = KERNEL_UNKNOWN,
					      .ns = last_record_ns(thread) };
	const struct off_place place = place_now(thread);

	thread_cpu_count(thread, UINT64_MAX);
	if (off->track.state == SCHED_RUNS)
		off_times_event(off, &unknown, &place);
}

uint64_t thread_cpu_finish(struct thread *thread, uint64_t ns,
			   const struct sched_end *end)
{
	struct off_times *off = &thread->cpu->off;
	struct thread_entry *entry = &thread->entry;

	thread_cpu_count(thread, ns ? ns : UINT64_MAX);
	/* The kernel reported its end, or its end is unknown. */
	if (off->track.state == SCHED_ENDED &&
	    (!ns || off->track.since_ns < ns))
		ns = off->track.since_ns;
	if (!ns)
		ns = last_record_ns(thread);
	thread_cpu_look(thread, ns);
	if (end)
		off_times_settle(off, end->on_ns, end->delay_ns);
	else
		off_times_close(off);
	/* Calls and states end here; CPU samples may come later. */
	thread->cpu->settled = true;
	thread_cpu_count(thread, UINT64_MAX);
	/* Without switches there are only samples. */
	if (thread->cpu->begun && thread->setup->collector->options->sched) {
		entry->sched = true;
		entry->on_cpu_ns = off->sums.on_ns;
		entry->runnable_ns = off->sums.runnable_ns;
		entry->blocked_ns = off->sums.blocked_ns;
		entry->unknown_ns = off->sums.unknown_ns;
		entry->sched_wall_ns =
			off->track.since_ns - off->track.begun_ns;
		entry->spread_ns = off->sums.spread_ns;
		entry->stolen_ns = off->sums.stolen_ns;
		entry->waits = off->track.sums.waits;
		entry->preemptions = off->track.sums.preemptions;
		entry->migrations = off->track.sums.migrations;
	}
	cpu_take_no_more(cpu_group_of(thread), thread->entry.tid,
			 thread->start_ns);
	free(thread->cpu);
	thread->cpu = NULL;
	return ns;
}
