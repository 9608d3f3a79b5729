/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_threads - the threads and processes of one cpu_group (cpu_samples.h):
 * what was sampled of each, and what the kernel has counted. All calls are made
 * under a lock of the caller's; none of them waits.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_CPU_THREADS_H
#define PERFREC_COLLECTOR_SAMPLES_CPU_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/sched/kernel_events.h"

struct cpu_blocked;
struct cpu_process;
struct cpu_thread;
struct perf_record;
struct perf_wanted;
struct process;
struct recording;
struct sample;
struct sampler;

/* A child that ended without a sample. */
struct cpu_unsampled {
	pid_t pid;
	char name[16];
	uint64_t ns;
};

struct cpu_threads {
	struct sampler *sampler;
	struct recording *recording; /* outlives it */
	uint64_t period_ns;
	uint64_t begun_ns; /* BOOTTIME */
	bool no_kernel; /* kernel time is counted, but not sampled */
	size_t reads; /* that a thread tells its time with, when it ends */
	struct cpu_process *processes; /* the first one last */
	struct cpu_process *first; /* that said hello; stays */
	struct cpu_thread **table; /* hash chains by tid */
	uint32_t count, mask;
	bool events_wanted; /* a drain worker has asked for some */
	bool switches; /* the kernel tells of switches */
	/* Of the last records that the kernel lost, in any buffer: from when on
	 * states are unknown, counted from the first on. */
	struct cpu_loss {
		uint64_t from_ns[16];
		uint32_t count;
	} loss;
	/* Threads that are blocked, or were, and nobody has asked of yet, the
	 * longest there first. */
	struct cpu_thread *blocked, **blocked_end;
	uint64_t switch_count;
	/* Waits of CPU_LONG_NS and more: their time, and that of those which
	 * ended before anybody asked. */
	uint64_t long_ns, missed_ns;
	uint32_t silent; /* threads that ended and never told all their time */
	uint64_t counted_ns; /* that all threads told */
	/* Such children that no samples stand for yet, the newest last. */
	struct cpu_unsampled *unsampled;
	size_t unsampled_count, unsampled_room;
	uint64_t unsampled_ends; /* threads that ended without a sample */
	/* CPU time that lacks samples, less the time that shots stand for. */
	int64_t owed_ns;
};

/* For @process, which need not outlive it. @wanted: what its events do.
 * @reads: how many events count the time of a thread, one for each CPU. The
 * caller ends it with cpu_threads_release(), also after an error. 0 or -ENOMEM.
 */
int cpu_threads_init(struct cpu_threads *threads, const struct process *process,
		     const struct perf_wanted *wanted, size_t reads);
void cpu_threads_release(struct cpu_threads *threads);
/* A thread that was there at hello, and has an event of its own. Reads /proc.
 */
void cpu_threads_add_first(struct cpu_threads *threads, pid_t pid, pid_t tid);

/* Each takes in one record of the kernel, of the kind it is named after. */
void cpu_threads_sample(struct cpu_threads *threads,
			const struct perf_record *record);
/* The same for a sample of a shot (cpu_samples.c). False: its thread has enough
 * others, and it was dropped. */
bool cpu_threads_shot(struct cpu_threads *threads,
		      const struct perf_record *record);
/* @record, a sample, tells that something was counted: page faults
 * (KERNEL_FAULT), or what hardware counter number @flag of the recording counts
 * (KERNEL_COUNTER). */
void cpu_threads_counted(struct cpu_threads *threads,
			 const struct perf_record *record,
			 enum kernel_event_kind kind, uint8_t flag);
void cpu_threads_fork(struct cpu_threads *threads,
		      const struct perf_record *record);
void cpu_threads_name(struct cpu_threads *threads,
		      const struct perf_record *record);
/* Process @pid has called exec() at @ns (BOOTTIME), and its events have ended
 * there without a record: its threads end. For a process that is not one of
 * @threads, or has said hello after @ns, this does nothing. */
void cpu_threads_exec(struct cpu_threads *threads, pid_t pid, uint64_t ns);
void cpu_threads_count(struct cpu_threads *threads,
		       const struct perf_record *record);
void cpu_threads_exit(struct cpu_threads *threads,
		      const struct perf_record *record);
/* Returns the CPU on which the thread still was, by what was told before,
 * though it comes to one now; or -1. */
int cpu_threads_switch(struct cpu_threads *threads,
		       const struct perf_record *record);
/* Calls @take for each thread whose state is known from its switches, with the
 * CPU that it is on, or was on last. */
typedef void cpu_threads_known(void *context, pid_t tid, int cpu);
void cpu_threads_each_known(const struct cpu_threads *threads,
			    cpu_threads_known *take, void *context);
/* Records were lost, perhaps of these threads: from @from_ns on the state of
 * each is unknown until its next record. */
void cpu_threads_lose(struct cpu_threads *threads, uint64_t from_ns);

/* See cpu_take(). */
size_t cpu_threads_take(struct cpu_threads *threads, pid_t tid,
			uint64_t alive_ns, struct kernel_event *out,
			size_t room, struct sched_track *before);
/* See cpu_take_blocked() and cpu_tell_wait(), cpu_tell_anchor(). */
size_t cpu_threads_take_blocked(struct cpu_threads *threads, uint64_t before_ns,
				struct cpu_blocked *out, size_t room);
bool cpu_threads_tell_wait(struct cpu_threads *threads,
			   const struct cpu_blocked *blocked,
			   struct sample *wait);
void cpu_threads_tell_anchor(struct cpu_threads *threads,
			     const struct cpu_blocked *blocked, uint64_t on_ns,
			     uint64_t delay_ns);
/* Whether process @pid is one of @threads, and has not called exec(). */
bool cpu_threads_have(const struct cpu_threads *threads, pid_t pid);
/* Sets @out to such processes, at most @room, the newest first. Returns how
 * many. */
size_t cpu_threads_list(const struct cpu_threads *threads, pid_t *out,
			size_t room);
void cpu_threads_take_no_more(struct cpu_threads *threads, pid_t tid,
			      uint64_t alive_ns);

/* A pass over the buffers has ended. Post what is left of the threads that
 * ended at least @passes passes ago, and forget these threads. A thread whose
 * ticks nobody has taken yet is forgotten after @keep passes. */
void cpu_threads_settle(struct cpu_threads *threads, uint32_t passes,
			uint32_t keep);
/* Sampling has ended, and the kernel has counted @total_ns of all threads
 * together: post the time of every thread, and tell the account of the
 * recording. Reads /proc for the time of threads that still run. */
void cpu_threads_finish(struct cpu_threads *threads, uint64_t total_ns);

#endif
