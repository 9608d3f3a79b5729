/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_cpu - a sample belongs to the innermost span at its time. The kernel
 * writes the sample while the thread stands still. So whoever reads the head of
 * the ring first, and the buffers of the kernel after that, knows all samples
 * that are older than any record below that head. Replay is then stopped where
 * the clock of the records passes the time of a sample. That place is found by
 * halving, so replay itself pays nothing.
 *
 * Data cells of an extended record have no clock of their own (record_ext.h). A
 * cell whose clock is not between the clocks around it is taken for data and
 * stepped over. If data happens to look like a clock, a sample may be counted a
 * few records off, and a cut may fall into a record: fibers_run() then leaves
 * that record whole.
 */
#include "collector/samples/thread_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "collector/replay/cct.h"
#include "collector/record/arena.h"
#include "collector/replay/clock_sync.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/samples/cpu_samples.h"
#include "collector/samples/cpu_threads.h"
#include "collector/record/thread_state.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"

/* The most overruns of a timer that are believed: a thread may have stood still
 * for long. */
#define OVERRUNS_MAX (1ULL << 20)

#define THREAD_TICKS 256

struct thread_cpu {
	struct clock_segment segment; /* of the clock, as last asked for */
	uint32_t first, count; /* of tick */
	struct cpu_tick tick[THREAD_TICKS]; /* not counted yet */
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

static void count_first_tick(struct thread *thread)
{
	struct thread_cpu *cpu = thread->cpu;

	replay_top_node(fibers_current(&thread->fibers))->cpu_samples +=
		cpu->tick[cpu->first].count;
	cpu->first++;
	cpu->count--;
}

/* Take more ticks from the group, once all that were taken are counted. */
static void take_more_ticks(struct thread *thread)
{
	struct thread_cpu *cpu = thread->cpu;

	if (cpu->count)
		return;
	cpu->first = 0;
	cpu->count = (uint32_t)cpu_take(cpu_group_of(thread), thread->entry.tid,
					cpu->tick, THREAD_TICKS);
}

void thread_cpu_fetch(struct thread *thread)
{
	cpu_pull(cpu_group_of(thread));
	take_more_ticks(thread);
}

/* Count the ticks up to @ns. */
static void count_ticks_upto(struct thread *thread, uint64_t ns)
{
	struct thread_cpu *cpu = thread->cpu;

	while (cpu->count && cpu->tick[cpu->first].ns <= ns) {
		count_first_tick(thread);
		take_more_ticks(thread);
	}
}

static uint64_t clock_to_ns(struct thread *thread, uint64_t clock)
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
	/* relaxed: HEAD orders it; whatever it is now, it only tells where to
	 * cut */
	return atom_load_rlx(&cells[i].clock);
}

/* The index of the first of @count records that is not older than @ns. */
static size_t find_not_older(struct thread *thread, const struct record *cells,
			     size_t count, uint64_t ns)
{
	size_t low = 0, high = count; /* low is older, high is not */
	uint64_t low_clock = record_clock(cells, 0), high_clock = UINT64_MAX;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2, at = middle;
		uint64_t clock = record_clock(cells, at);

		while (at + 1 < high &&
		       (clock < low_clock || clock > high_clock))
			clock = record_clock(cells, ++at);
		if (clock < low_clock || clock > high_clock) {
			/* All data up to high. */
			high = middle;
		} else if (clock_to_ns(thread, clock) < ns) {
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

	count_ticks_upto(thread, clock_to_ns(thread, record_clock(cells, 0)));
	if (cpu->count)
		upto = find_not_older(thread, cells, count,
				      cpu->tick[cpu->first].ns);
	if (record_kind(word) == RECORD_EXT)
		least += record_ext_cells(word);
	return MIN(MAX(upto, least), count);
}

void thread_cpu_count(struct thread *thread, uint64_t ns)
{
	thread_cpu_fetch(thread);
	count_ticks_upto(thread, ns);
}

void thread_cpu_finish(struct thread *thread)
{
	thread_cpu_count(thread, UINT64_MAX);
	cpu_take_no_more(cpu_group_of(thread), thread->entry.tid);
	free(thread->cpu);
	thread->cpu = NULL;
}
