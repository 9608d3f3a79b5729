/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_open - the attributes of the kernel's events that sample CPU time, and
 * the system call that opens one: perf_event_open(2).
 */
#ifndef PERFREC_COLLECTOR_BASE_PERF_OPEN_H
#define PERFREC_COLLECTOR_BASE_PERF_OPEN_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PERF_SAMPLE                                                         \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |        \
	 PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | \
	 PERF_SAMPLE_STACK_USER)

/* The trailer of all records other than samples; events of a tree take no
 * samples. */
#define PERF_TREE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

/* A sample of counted events: their number, and the thread. Its first fields
 * are those of PERF_SAMPLE, because the reader looks for the time of both at
 * one place. No PERF_SAMPLE is this short, so perf_record.c tells them apart by
 * the size. */
#define PERF_COUNTED                                                 \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
	 PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD)
#define PERF_COUNTED_BYTES 48

/* linux asm/perf_regs.h: x86-64 without flags and segments, numbers 0 to 8 and
 * 16 to 23; all of arm64's, 0 to 32. */
#if defined(__x86_64__)
#define PERF_REGS 0xff01ffULL
#else
#define PERF_REGS 0x1ffffffffULL
#endif

/* The configuration of an event. */
struct perf_wanted {
	/* CPU time between two samples of a thread; 0: no samples. */
	uint64_t period_ns;
	uint32_t stack_bytes; /* copied by a sample */
	bool no_kernel; /* kernel time is counted, but not sampled */
	bool kernel_stacks; /* samples of the kernel have its stack */
	bool tree; /* no samples, count across execs */
	bool faults; /* also count page faults in user mode */
	uint32_t counters; /* also count these (perf_counters.h) */
	bool switches; /* record when a thread leaves or enters a CPU */
	bool wakings; /* also record which thread wakes another */
};

/* Returns the attributes of an event for @wanted, in the thread that opens it
 * and in all its descendants. Any thread. */
struct perf_event_attr perf_open_attributes(const struct perf_wanted *wanted);

/* CPU time of a thread before an event of perf_open_for_shots() samples it, in
 * ns. */
#define PERF_SHOT_NS 100000
static inline bool perf_wants_shots(const struct perf_wanted *wanted)
{
	return wanted->period_ns && !wanted->tree;
}

/* Maximum bytes of stack in a sample of a shot. */
#define PERF_SHOT_STACK_BYTES 4096

/* Returns the attributes of the second event, beside the event for @wanted: it
 * only samples, each PERF_SHOT_NS, while it is enabled. Any thread. */
struct perf_event_attr perf_open_for_shots(const struct perf_wanted *wanted);

/* Returns the attributes of an event of @type and @config that writes
 * PERF_COUNTED samples: one for each @period events in user mode, in the thread
 * that opens it and in its descendants. Any thread. */
struct perf_event_attr perf_open_counted(uint32_t type, uint64_t config,
					 uint64_t period);

/* Opens an event of thread @tid (0: the caller) on @cpu (-1: any). Returns a
 * descriptor, which the caller closes, or -errno. Any thread. */
int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu);

/* The same, in the group of event @leader of the same thread and CPU. */
int perf_open_beside(struct perf_event_attr *attr, pid_t tid, int cpu,
		     int leader);

/* Opens an event for @wanted, of the calling thread only, without a shared
 * buffer: the caller may map one. Returns as perf_open(). */
int perf_open_self(const struct perf_wanted *wanted);
/* The same for an event that counts only on @cpu. */
int perf_open_self_on(const struct perf_wanted *wanted, int cpu);

#endif
