/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_open - the attributes of the kernel's events that sample CPU time, and
 * the system call that opens one: perf_event_open(2).
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_PERF_OPEN_H
#define PERFREC_COLLECTOR_SAMPLES_PERF_OPEN_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PERF_SAMPLE                                                  \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
	 PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* The same trailer behind all records but samples, of which there are none. */
#define PERF_TREE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

/* A sample of something that is counted: how many, and in which thread. Its
 * first fields are those of PERF_SAMPLE, as the reader looks for the time in
 * both at one place; and no sample of that kind is so short, by which
 * perf_record.c tells them apart. */
#define PERF_COUNTED                                                 \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
	 PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD)
#define PERF_COUNTED_BYTES 48

/* linux asm/perf_regs.h: all but flags and segments of x86-64, numbers 0 to 8
 * and 16 to 23; all of arm64's, 0 to 32. */
#if defined(__x86_64__)
#define PERF_REGS 0xff01ffULL
#else
#define PERF_REGS 0x1ffffffffULL
#endif

/* What an event is to do. */
struct perf_wanted {
	uint64_t period_ns; /* of CPU time, between two samples of a thread; 0:
			     * no samples are taken */
	uint32_t stack_bytes; /* that a sample copies */
	bool no_kernel; /* time in the kernel is counted, but not sampled */
	bool tree; /* take no samples, count across execs */
	bool faults; /* count page faults in user mode, too */
	uint32_t counters; /* and these (perf_counters.h) */
	bool switches; /* tell when a thread leaves a CPU or comes to one */
};

/* The attributes of an event that does what @wanted says, in the thread that
 * opens it and in whatever that thread makes. Any thread. */
struct perf_event_attr perf_open_attributes(const struct perf_wanted *wanted);

/* How much CPU time passes in a thread before an event of
 * perf_open_for_shots() takes a sample, in ns. */
#define PERF_SHOT_NS 100000
static inline bool perf_wants_shots(const struct perf_wanted *wanted)
{
	return wanted->period_ns && !wanted->tree;
}

/* The most that it copies of a stack. */
#define PERF_SHOT_STACK_BYTES 4096

/* The attributes of the second event, beside the event that does what @wanted
 * says: it only samples, each PERF_SHOT_NS, while it is enabled. Any thread. */
struct perf_event_attr perf_open_for_shots(const struct perf_wanted *wanted);

/* The attributes of an event of @type and @config that says in PERF_COUNTED
 * samples how often something happened in user mode, once for @period, and
 * nothing else; in the thread that opens it and in what that makes. Any thread.
 */
struct perf_event_attr perf_open_counted(uint32_t type, uint64_t config,
					 uint64_t period);

/* Open an event of thread @tid (0: the caller) on @cpu (-1: on any). Returns a
 * descriptor, which is the caller's, or -errno. Any thread. */
int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu);

/* The same, in the group of event @leader, which is of that thread and CPU. */
int perf_open_beside(struct perf_event_attr *attr, pid_t tid, int cpu,
		     int leader);

/* Open an event of the calling thread only, which does what @wanted says, with
 * no part in a buffer of others: the caller may map one. Returns as
 * perf_open(). */
int perf_open_self(const struct perf_wanted *wanted);
/* The same for an event that counts on @cpu only. */
int perf_open_self_on(const struct perf_wanted *wanted, int cpu);

#endif
