/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_sched - the switches of one CPU are in order, but those of two CPUs are
 * not. So the last switch of a thread before a range is known only after all
 * switches were read. Until then, packets are kept in memory, unless they are
 * too many. Nearly all cuts are short.
 */
#include "collector/cut/cut_sched.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/base/bytes.h"
#include "collector/base/pool.h"
#include "collector/read/trace_switches.h"
#include "collector/trace/out_sched.h"
#include "shared/compiler.h"

/* Beyond this, the cut lacks the states of threads that sleep when it
 * begins. */
#define KEPT_BYTES (16u << 20)

struct sched_thread {
	int64_t tid;
	uint64_t ns;
	uint32_t cpu;
	uint32_t runs; /* it came to the CPU, and "why" is unused */
	uint64_t why; /* enum trace_left */
};

struct sched_cpu {
	int32_t running; /* 0: no thread of the recording */
	uint32_t range;
	bool inside;
	bool lost; /* switches are missing since the last one */
	bool written;
};

struct cut_sched {
	const struct cut_ranges *ranges;
	struct cut_file *file;
	cut_sched_has *has;
	void *context;
	struct out_sched *out;
	uint32_t sequence;
	struct pool threads;
	struct bytes kept;
	bool leaves; /* after cut_sched_leave() with leave_ns */
	uint64_t leave_ns;
	uint64_t rest_ns; /* no further switch is earlier */
	bool told;
	struct trace_switches switches;
	struct sched_cpu cpus[TRACE_CPUS_MAX];
};

int cut_sched_new(const struct cut_ranges *ranges, struct cut_file *file,
		  struct budget *budget, cut_sched_has *has, void *context,
		  struct cut_sched **out)
{
	struct cut_sched *sched = calloc(1, sizeof(*sched));

	if (!sched)
		return -ENOMEM;
	sched->ranges = ranges;
	sched->file = file;
	sched->has = has;
	sched->context = context;
	pool_init(&sched->threads, budget, sizeof(struct sched_thread),
		  sizeof(int64_t));
	*out = sched;
	return 0;
}

void cut_sched_free(struct cut_sched **sched)
{
	if (!*sched)
		return;
	out_sched_free(&(*sched)->out);
	pool_release(&(*sched)->threads);
	bytes_release(&(*sched)->kept);
	free(*sched);
	*sched = NULL;
}

static void put_kept_switches(struct cut_sched *sched)
{
	cut_file_put(sched->file, sched->kept.at, sched->kept.count);
	if (sched->kept.failed)
		sched->file->pending.failed = true;
	bytes_release(&sched->kept);
	sched->told = true;
}

static void put_or_keep_switches(void *context, const void *packets,
				 size_t bytes)
{
	struct cut_sched *sched = context;

	if (!sched->told) {
		bytes_put(&sched->kept, packets, bytes);
		if (sched->kept.count > KEPT_BYTES)
			put_kept_switches(sched);
	} else {
		cut_file_put(sched->file, packets, bytes);
	}
}

static bool is_shown(struct cut_sched *sched, int32_t tid)
{
	return tid && sched->has(sched->context, tid);
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

/* --- threads that are on no CPU when a cut begins ------------------------ */

/* Keeps the state of thread @tid from @at->ns on. */
static void note_switched_thread(struct cut_sched *sched,
				 const struct trace_switch *at, int32_t tid,
				 bool runs)
{
	struct sched_thread item = { .tid = tid,
				     .ns = at->ns,
				     .cpu = at->cpu,
				     .runs = runs,
				     .why = at->why },
			    *known;
	uint32_t number;

	if (!tid || pool_intern(&sched->threads, &item, &number) < 0)
		return;
	known = (struct sched_thread *)sched->threads.items + number;
	/* At one time it may leave a CPU and come to another, in any order. */
	if (known->ns < at->ns ||
	    (known->ns == at->ns && (runs || known->cpu == at->cpu)))
		*known = item;
}

/* Returns true if older switches of @thread may follow on another CPU. If the
 * thread has ended, its track is gone, and its state has no track. */
static bool has_older(const struct cut_sched *sched,
		      const struct sched_thread *thread)
{
	return sched->leaves && thread->ns > sched->rest_ns;
}

/* Returns true if the state of @thread must be written on its CPU, for CPUs
 * with switches in the cut if @written, else for all others. */
static bool has_state(struct cut_sched *sched,
		      const struct sched_thread *thread, bool written)
{
	if (thread->runs || sched->cpus[thread->cpu].written != written)
		return false;
	if (thread->why == TRACE_LEFT_PREEMPTED ||
	    thread->why == TRACE_LEFT_WAITS)
		return is_shown(sched, (int32_t)thread->tid);
	return has_older(sched, thread);
}

/* Writes states of threads whose last CPU has more switches in the cut, if
 * @written, or has none. */
static void put_states(struct cut_sched *sched, bool written,
		       struct out_sched *out)
{
	const struct sched_thread *thread = sched->threads.items;

	for (uint32_t i = 0; i < sched->threads.count; i++, thread++) {
		uint64_t ns = sched->leaves ? MAX(sched->leave_ns, thread->ns)
					    : sched->ranges->at[0].from;

		if (!has_state(sched, thread, written))
			continue;
		out_sched_in(out, thread->cpu, ns, (int32_t)thread->tid);
		out_sched_out(out, thread->cpu, ns, (int32_t)thread->tid,
			      left_of((enum trace_left)thread->why));
	}
}

/* Writes states before the kept packets. @end_ns: see out_sched_end(); 0:
 * unknown. */
static void write_states(struct cut_sched *sched, bool written, uint64_t end_ns)
{
	struct out_sched *out;

	if (out_sched_new(OUT_SCHED_CPUS_MAX, sched->sequence,
			  put_or_keep_switches, sched, &out))
		return;
	put_states(sched, written, out);
	if (!written && end_ns)
		out_sched_end(out, end_ns);
	else
		out_sched_flush(out);
	out_sched_free(&out);
}

/* --- one CPU ------------------------------------------------------------- */

static void put_in(struct cut_sched *sched, uint32_t cpu, uint64_t ns,
		   int32_t tid)
{
	if (!is_shown(sched, tid))
		return;
	sched->cpus[cpu].written = true;
	out_sched_in(sched->out, cpu, ns, tid);
}

static void put_out(struct cut_sched *sched, uint32_t cpu, uint64_t ns,
		    int32_t tid, enum out_sched_left why)
{
	if (!is_shown(sched, tid))
		return;
	sched->cpus[cpu].written = true;
	out_sched_out(sched->out, cpu, ns, tid, why);
}

static void put_lost(struct cut_sched *sched, uint32_t cpu, uint64_t ns)
{
	sched->cpus[cpu].written = true;
	out_sched_lost(sched->out, cpu, ns);
}

static void begin_cpu_range(struct cut_sched *sched, uint32_t cpu)
{
	struct sched_cpu *at = &sched->cpus[cpu];
	uint64_t ns = sched->ranges->at[at->range].from;

	at->inside = true;
	if (at->lost)
		put_lost(sched, cpu, ns);
	else
		put_in(sched, cpu, ns, at->running);
}

static void end_cpu_range(struct cut_sched *sched, uint32_t cpu, uint64_t ns)
{
	struct sched_cpu *at = &sched->cpus[cpu];

	at->inside = false;
	at->range++;
	if (!at->lost)
		put_out(sched, cpu, ns, at->running, OUT_SCHED_UNKNOWN);
}

/* The next switch of @cpu is at @ns: begins and ends ranges up to @ns. */
static void advance_cpu(struct cut_sched *sched, uint32_t cpu, uint64_t ns)
{
	const struct cut_ranges *ranges = sched->ranges;
	struct sched_cpu *at = &sched->cpus[cpu];

	while (at->range < ranges->count && ranges->at[at->range].to <= ns) {
		if (!at->inside)
			begin_cpu_range(sched, cpu);
		end_cpu_range(sched, cpu, ranges->at[at->range].to);
	}
	if (at->range < ranges->count && ranges->at[at->range].from <= ns &&
	    !at->inside)
		begin_cpu_range(sched, cpu);
}

static void take_switch(struct cut_sched *sched, const struct trace_switch *at)
{
	struct sched_cpu *cpu = &sched->cpus[at->cpu];

	if (at->ns < sched->ranges->at[0].from) {
		note_switched_thread(sched, at, at->left, false);
		note_switched_thread(sched, at, at->came, true);
	}
	advance_cpu(sched, at->cpu, at->ns);
	cpu->running = at->came;
	cpu->lost = at->lost;
	if (!cpu->inside)
		return;
	if (at->lost) {
		put_lost(sched, at->cpu, at->ns);
		return;
	}
	put_out(sched, at->cpu, at->ns, at->left, left_of(at->why));
	put_in(sched, at->cpu, at->ns, at->came);
}

static bool begin_out(struct cut_sched *sched, uint32_t sequence)
{
	if (sched->out)
		return true;
	sched->sequence = sequence ? sequence : 1;
	return out_sched_new(OUT_SCHED_CPUS_MAX, sched->sequence,
			     put_or_keep_switches, sched, &sched->out) == 0;
}

bool cut_sched_pass(struct cut_sched *sched, uint32_t sequence,
		    const struct trace_switch *at)
{
	if (!begin_out(sched, sequence))
		return false;
	trace_switches_pass(&sched->switches, at);
	take_switch(sched, at);
	return true;
}

bool cut_sched_take(struct cut_sched *sched, uint32_t sequence,
		    struct wire bundle)
{
	struct trace_switch next;

	if (!begin_out(sched, sequence))
		return false;
	trace_switches_begin(&sched->switches, bundle);
	/* All switches up to this time are in front of the bundle
	 * (out_sched.h). */
	sched->rest_ns = sched->switches.cpus[sched->switches.cpu].last_ns;
	while (trace_switches_next(&sched->switches, &next))
		take_switch(sched, &next);
	return true;
}

/* Ends a range that goes on when the trace ends. */
static void end_cpu(struct cut_sched *sched, uint32_t cpu, uint64_t ns)
{
	const struct cut_ranges *ranges = sched->ranges;
	struct sched_cpu *at = &sched->cpus[cpu];

	advance_cpu(sched, cpu, ns);
	if (at->range < ranges->count && at->inside)
		end_cpu_range(sched, cpu, ns);
}

/* Returns the time until which the trace has all switches. Returns 0 if a CPU
 * lacks some before the end of the cut. Each CPU has one at the end of a
 * recording (out_sched_end()). */
static uint64_t whole_until(const struct cut_sched *sched)
{
	uint64_t first = UINT64_MAX, last = 0,
		 end = sched->ranges->at[sched->ranges->count - 1].to;

	for (uint32_t i = 0; i < TRACE_CPUS_MAX; i++) {
		uint64_t ns = sched->switches.cpus[i].last_ns;

		if (!ns)
			continue;
		first = MIN(first, ns);
		last = MAX(last, ns);
	}
	return first >= end ? end : first == last ? first : 0;
}

static int compare_threads(const void *left, const void *right)
{
	const struct sched_thread *a = left, *b = right;

	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

void cut_sched_end(struct cut_sched *sched, uint64_t ns)
{
	uint64_t end_ns;

	if (!sched->out)
		return;
	for (uint32_t i = 0; i < TRACE_CPUS_MAX; i++)
		end_cpu(sched, i, MAX(ns, sched->switches.cpus[i].last_ns));
	end_ns = whole_until(sched);
	if (end_ns < sched->ranges->at[0].from)
		end_ns = 0;
	if (end_ns)
		out_sched_end(sched->out, end_ns);
	else
		out_sched_flush(sched->out);
	if (!sched->told) {
		sched->told = true;
		/* So packets that were skipped before the cut do not change
		 * it. Breaks lookups. */
		if (sched->threads.count)
			qsort(sched->threads.items, sched->threads.count,
			      sizeof(struct sched_thread), compare_threads);
		write_states(sched, true, end_ns);
		write_states(sched, false, end_ns);
		put_kept_switches(sched);
	}
}

/* The order of writing, because switches of a CPU must be in order. */
static int compare_thread_times(const void *left, const void *right)
{
	const struct sched_thread *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return compare_threads(left, right);
}

uint64_t cut_sched_last_ns(const struct cut_sched *sched)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < TRACE_CPUS_MAX; i++)
		last_ns = MAX(last_ns, sched->switches.cpus[i].last_ns);
	return last_ns;
}

bool cut_sched_may_follow(const struct cut_sched *sched, int64_t tid,
			  uint64_t ns)
{
	const struct sched_thread *threads = sched->threads.items, *thread;
	const struct sched_thread wanted = { .tid = tid };
	uint32_t number;

	if (!sched->out)
		return false;
	/* All switches so far are earlier than its last event. */
	if (ns >= sched->rest_ns)
		return true;
	if (!pool_find(&sched->threads, &wanted, &number))
		return false;
	thread = &threads[number];
	return thread->runs || thread->why == TRACE_LEFT_PREEMPTED ||
	       thread->why == TRACE_LEFT_WAITS || thread->ns > sched->rest_ns;
}

void cut_sched_leave(struct cut_sched *sched, uint64_t ns)
{
	if (!sched->out)
		return;
	sched->leaves = sched->told = true;
	sched->leave_ns = ns;
	sched->rest_ns = MAX(sched->rest_ns, ns);
	if (sched->threads.count)
		qsort(sched->threads.items, sched->threads.count,
		      sizeof(struct sched_thread), compare_thread_times);
	put_states(sched, false, sched->out);
	for (uint32_t i = 0; i < TRACE_CPUS_MAX; i++) {
		uint64_t last_ns = sched->switches.cpus[i].last_ns,
			 from = MAX(ns, last_ns);

		if (sched->cpus[i].lost)
			put_lost(sched, i, from);
		else if (sched->cpus[i].running)
			put_in(sched, i, from, sched->cpus[i].running);
		else if (last_ns)
			out_sched_none(sched->out, i, from);
	}
	out_sched_flush(sched->out);
}
