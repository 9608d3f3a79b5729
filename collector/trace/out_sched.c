/* SPDX-License-Identifier: Apache-2.0
 *
 * out_sched - the packets:
 *
 *   0a L  50 S  0a L  08 C [18 01]  22 L  2a 00  0a L t t..  12 L s s..
 *   packet      bundle CPU  losses  compact ""   times       states
 *                        1a L n n..  22 L p p..  32 L 0 0..
 *                        threads     priorities  names: the number of ""
 *
 * A switch is one varint in each of five lists: its time, the new state of the
 * thread that leaves, the thread that comes. The first time of a packet is
 * absolute, the others are steps. The constant lists are added when the packet
 * is made: the name, which is empty so that threads keep the names of their
 * tracks, and the priority. Perfetto draws priorities below 100 as real-time
 * threads. The true priority is unknown, so all threads have an ordinary one.
 *
 * A switch does not contain the thread that leaves, because the switch before
 * has it. So the first switch of a CPU gives Perfetto no slice. An extra switch
 * precedes it, to the thread that runs anyway: 0, or the thread that leaves.
 *
 * States are those of the kernel in the trace's utsname, with the values of
 * sched_switch since Linux 4.14; perf reports preemption since 4.17. Older
 * Perfettos and traces without utsname would need 2048 instead of 256. A thread
 * with an unknown state gets the state of idle kernel threads, which Perfetto
 * does not draw and no thread of a program has.
 */
#include "collector/trace/out_sched.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/protobuf.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

#define SWITCHES_MAX 512u
#define TIMES_BYTES 2560u /* 5 for each: steps up to 34 s */
#define STATES_BYTES (2 * SWITCHES_MAX)
#define THREADS_BYTES (4 * SWITCHES_MAX)
#define THREAD_BYTES_MAX 5 /* varint of a pid_t */
#define HEADS_BYTES_MAX 128 /* all tags and lengths of a packet */
#define PRIORITY 120 /* of a thread with nice 0 */

_Static_assert(HEADS_BYTES_MAX + TIMES_BYTES + STATES_BYTES + THREADS_BYTES +
			       2 * SWITCHES_MAX <=
		       OUT_SCHED_BYTES_MAX,
	       "a packet is whole");

/* Values of sched_switch's prev_state. */
static const uint16_t g_states[] = {
	[OUT_SCHED_PREEMPTED] = SCHED_STATE_PREEMPTED,
	[OUT_SCHED_BLOCKED] = SCHED_STATE_SLEEPS,
	[OUT_SCHED_ENDED] = SCHED_STATE_DEAD,
	[OUT_SCHED_UNKNOWN] = SCHED_STATE_IDLE,
};

struct cpu {
	uint64_t last_ns; /* of the last switch, kept over a flush */
	pid_t running; /* 0: none of the recording */
	bool armed; /* has had a switch */
	bool lost; /* switches before the kept ones are missing */
	uint16_t count, times_bytes, states_bytes, threads_bytes;
	uint8_t times[TIMES_BYTES], states[STATES_BYTES],
		threads[THREADS_BYTES];
};

struct out_sched {
	out_sched_sink *sink;
	void *context;
	uint32_t sequence, cpu_count;
	uint64_t left_out;
	uint8_t packet[OUT_SCHED_BYTES_MAX];
	struct cpu cpus[];
};

int out_sched_new(uint32_t cpus, uint32_t sequence, out_sched_sink *sink,
		  void *context, struct out_sched **out)
{
	struct out_sched *sched;

	if (!cpus || !sequence)
		return -EINVAL;
	cpus = MIN(cpus, OUT_SCHED_CPUS_MAX);
	/* The kernel allocates pages of a large array when they are written. */
	sched = calloc(1, sizeof(*sched) + cpus * sizeof(*sched->cpus));
	if (!sched)
		return -ENOMEM;
	sched->sink = sink;
	sched->context = context;
	sched->sequence = sequence;
	sched->cpu_count = cpus;
	*out = sched;
	return 0;
}

void out_sched_free(struct out_sched **sched)
{
	free(*sched);
	*sched = NULL;
}

/* --- packets --- */

static uint8_t *put_same(uint8_t *out, uint8_t tag, uint8_t byte, size_t count)
{
	out = wire_put(out, tag, count);
	memset(out, byte, count);
	return out + count;
}

static uint8_t *prepend(uint8_t *from, uint32_t tag, uint64_t value)
{
	uint8_t field[WIRE_FIELD_MAX];
	size_t count = (size_t)(wire_put(field, tag, value) - field);

	memcpy(from - count, field, count);
	return from - count;
}

static uint8_t *put_switch_lists(uint8_t *out, const struct cpu *cpu)
{
	out = wire_put(out, TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_INTERN_TABLE,
		       0);
	out = wire_put_bytes(
		out, TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP,
		cpu->times, cpu->times_bytes);
	out = wire_put_bytes(
		out, TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_PREV_STATE,
		cpu->states, cpu->states_bytes);
	out = wire_put_bytes(
		out, TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_PID,
		cpu->threads, cpu->threads_bytes);
	out = put_same(out,
		       TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_PRIO,
		       PRIORITY, cpu->count);
	return put_same(
		out,
		TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_COMM_INDEX, 0,
		cpu->count);
}

/* Makes the packet from the inside out, because its heads need its length. */
static void hand_over(struct out_sched *sched, struct cpu *cpu)
{
	uint8_t *from = sched->packet + HEADS_BYTES_MAX / 2;
	const uint8_t *end = put_switch_lists(from, cpu);

	from = prepend(from, TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED,
		       (uint64_t)(end - from));
	if (cpu->lost)
		from = prepend(from, TAG_FTRACE_EVENT_BUNDLE_LOST_EVENTS, 1);
	from = prepend(from, TAG_FTRACE_EVENT_BUNDLE_CPU,
		       (uint64_t)(cpu - sched->cpus));
	from = prepend(from, TAG_TRACE_PACKET_FTRACE_EVENTS,
		       (uint64_t)(end - from));
	from = prepend(from, TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
		       sched->sequence);
	from = prepend(from, TAG_TRACE_PACKET, (uint64_t)(end - from));
	sched->sink(sched->context, from, (size_t)(end - from));
	cpu->count = cpu->times_bytes = cpu->states_bytes = 0;
	cpu->threads_bytes = 0;
	cpu->lost = false;
}

void out_sched_flush(struct out_sched *sched)
{
	for (uint32_t i = 0; i < sched->cpu_count; i++)
		if (sched->cpus[i].count)
			hand_over(sched, &sched->cpus[i]);
}

/* --- switches --- */

static void put_thread(struct cpu *cpu, pid_t tid)
{
	uint8_t *at = cpu->threads + cpu->threads_bytes;

	cpu->threads_bytes =
		(uint16_t)(varint_put(at, (uint32_t)tid) - cpu->threads);
	cpu->running = tid;
}

static void put_switch(struct out_sched *sched, struct cpu *cpu, uint64_t ns,
		       uint16_t state, pid_t next)
{
	if (unlikely(cpu->count == SWITCHES_MAX ||
		     cpu->times_bytes > TIMES_BYTES - VARINT_BYTES_MAX ||
		     cpu->threads_bytes > THREADS_BYTES - THREAD_BYTES_MAX))
		out_sched_flush(sched);
	cpu->times_bytes =
		(uint16_t)(varint_put(cpu->times + cpu->times_bytes,
				      cpu->count ? ns - cpu->last_ns : ns) -
			   cpu->times);
	cpu->states_bytes =
		(uint16_t)(varint_put(cpu->states + cpu->states_bytes, state) -
			   cpu->states);
	put_thread(cpu, next);
	cpu->last_ns = ns;
	cpu->count++;
}

/* Returns CPU @number, or NULL if it does not exist. Before its first switch,
 * adds a switch to @tid. */
static struct cpu *find_cpu(struct out_sched *sched, uint32_t number,
			    uint64_t *ns, pid_t tid)
{
	struct cpu *cpu;

	if (unlikely(number >= sched->cpu_count)) {
		sched->left_out++;
		return NULL;
	}
	cpu = &sched->cpus[number];
	*ns = MAX(*ns, cpu->last_ns);
	if (unlikely(!cpu->armed)) {
		cpu->armed = true;
		put_switch(sched, cpu, *ns, SCHED_STATE_RUNS, tid);
	}
	return cpu;
}

void out_sched_in(struct out_sched *sched, uint32_t cpu_number, uint64_t ns,
		  pid_t tid)
{
	struct cpu *cpu = find_cpu(sched, cpu_number, &ns, 0);

	assert(tid > 0);
	if (!cpu || cpu->running == tid)
		return;
	if (cpu->running) {
		put_switch(sched, cpu, ns, SCHED_STATE_IDLE, tid);
	} else if (cpu->count > 1 && cpu->last_ns == ns) {
		/* Replace the 0 that came, which takes one byte. */
		cpu->threads_bytes--;
		put_thread(cpu, tid);
	} else {
		put_switch(sched, cpu, ns, SCHED_STATE_RUNS, tid);
	}
}

void out_sched_none(struct out_sched *sched, uint32_t cpu_number, uint64_t ns)
{
	struct cpu *cpu = find_cpu(sched, cpu_number, &ns, 0);

	if (cpu)
		put_switch(sched, cpu, ns,
			   cpu->running ? SCHED_STATE_IDLE : SCHED_STATE_RUNS,
			   0);
}

void out_sched_out(struct out_sched *sched, uint32_t cpu_number, uint64_t ns,
		   pid_t tid, enum out_sched_left why)
{
	struct cpu *cpu = find_cpu(sched, cpu_number, &ns, tid);

	assert(tid > 0);
	if (!cpu)
		return;
	if (cpu->running != tid)
		out_sched_in(sched, cpu_number, ns, tid);
	put_switch(sched, cpu, ns, g_states[why], 0);
}

void out_sched_lost(struct out_sched *sched, uint32_t cpu_number, uint64_t ns)
{
	struct cpu *cpu = find_cpu(sched, cpu_number, &ns, 0);

	if (!cpu)
		return;
	if (cpu->count)
		out_sched_flush(sched);
	cpu->lost = true;
	put_switch(sched, cpu, ns, SCHED_STATE_IDLE, 0);
}

void out_sched_unknown(struct out_sched *sched, uint32_t cpu_number,
		       uint64_t ns, pid_t tid)
{
	struct cpu *cpu = find_cpu(sched, cpu_number, &ns, 0);
	pid_t other;

	if (!cpu)
		return;
	other = cpu->running == tid ? 0 : cpu->running;
	if (other)
		put_switch(sched, cpu, ns, SCHED_STATE_PREEMPTED, tid);
	else
		out_sched_in(sched, cpu_number, ns, tid);
	put_switch(sched, cpu, ns, SCHED_STATE_IDLE, other);
}

void out_sched_gone(struct out_sched *sched, uint32_t cpu_number, pid_t tid)
{
	struct cpu *cpu;

	if (cpu_number >= sched->cpu_count)
		return;
	cpu = &sched->cpus[cpu_number];
	if (cpu->running == tid)
		put_switch(sched, cpu, cpu->last_ns, SCHED_STATE_IDLE, 0);
}

void out_sched_end(struct out_sched *sched, uint64_t ns)
{
	for (uint32_t i = 0; i < sched->cpu_count; i++) {
		if (sched->cpus[i].armed)
			out_sched_none(sched, i, ns);
	}
	out_sched_flush(sched);
}

uint64_t out_sched_left_out(const struct out_sched *sched)
{
	return sched->left_out;
}
