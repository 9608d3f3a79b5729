/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_threads - the threads and processes of one cpu_group (cpu_samples.h),
 * with their samples and the kernel's counts. All calls are made under a lock
 * of the caller's; none of them waits.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_CPU_THREADS_H
#define PERFREC_COLLECTOR_SAMPLES_CPU_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/replay/kernel_events.h"

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
	size_t reads; /* READ records of a thread at its end */
	struct cpu_process *processes; /* the first process is last */
	struct cpu_process *first; /* it said hello; it stays */
	struct cpu_thread **table; /* hash chains by tid */
	uint32_t count, mask;
	bool events_wanted; /* a drain worker has taken events */
	bool switches; /* the kernel reports switches */
	/* The start times of the last losses of the kernel, in any buffer;
	 * count includes all losses. */
	struct cpu_loss {
		uint64_t from_ns[16];
		uint32_t count;
	} loss;
	/* Threads that are or were blocked and were not taken yet; the longest
	 * in the list comes first. */
	struct cpu_thread *blocked, **blocked_end;
	uint64_t switch_count;
	/* Waits of CPU_LONG_NS and more: their time, and the part that ended
	 * before anybody took them. */
	uint64_t long_ns, missed_ns;
	uint32_t silent; /* ended threads without their full time */
	uint64_t counted_ns; /* reported by all threads */
	/* Unsampled children that no other samples stand for yet, the newest
	 * last. */
	struct cpu_unsampled *unsampled;
	size_t unsampled_count, unsampled_room;
	uint64_t unsampled_ends; /* threads that ended without a sample */
	/* CPU time without samples, less the time of shots. */
	int64_t owed_ns;
};

/* Initialises @threads for @process, which need not outlive it. @wanted: the
 * configuration of its events. @reads: the events that count the time of a
 * thread, one per CPU. The caller ends it with cpu_threads_release(), also
 * after an error. Returns 0 or -ENOMEM. */
int cpu_threads_init(struct cpu_threads *threads, const struct process *process,
		     const struct perf_wanted *wanted, size_t reads);
void cpu_threads_release(struct cpu_threads *threads);
/* Adds a thread that existed at hello and has an event of its own. Reads /proc.
 */
void cpu_threads_add_first(struct cpu_threads *threads, pid_t pid, pid_t tid);

/* Each handles one record of the kernel of its kind. */
void cpu_threads_sample(struct cpu_threads *threads,
			const struct perf_record *record);
/* The same for the sample of a shot (cpu_samples.c). Returns false if it
 * dropped the sample because its thread has enough others. */
bool cpu_threads_shot(struct cpu_threads *threads,
		      const struct perf_record *record);
/* Handles @record, a sample of counted events: page faults (KERNEL_FAULT), or
 * hardware counter number @flag of the recording (KERNEL_COUNTER). */
void cpu_threads_counted(struct cpu_threads *threads,
			 const struct perf_record *record,
			 enum kernel_event_kind kind, uint8_t flag);
void cpu_threads_fork(struct cpu_threads *threads,
		      const struct perf_record *record);
void cpu_threads_name(struct cpu_threads *threads,
		      const struct perf_record *record);
/* Ends the threads of process @pid, which called exec() at @ns (BOOTTIME): its
 * events have ended without a record. Ignores processes outside of @threads,
 * and processes that said hello after @ns. */
void cpu_threads_exec(struct cpu_threads *threads, pid_t pid, uint64_t ns);
void cpu_threads_count(struct cpu_threads *threads,
		       const struct perf_record *record);
void cpu_threads_exit(struct cpu_threads *threads,
		      const struct perf_record *record);
/* Returns the CPU of the thread by earlier records, if it comes to a CPU
 * without having left that one; or -1. */
int cpu_threads_switch(struct cpu_threads *threads,
		       const struct perf_record *record);
/* Notes that a thread of @threads was woken: @record is a sample of
 * perf_wakings.h. @name: that of the waker, "" if unknown. Returns false if the
 * woken thread is not one of @threads. */
bool cpu_threads_woken(struct cpu_threads *threads,
		       const struct perf_record *record, const char name[16]);
/* Returns the name of thread @tid of process @pid, or NULL if it is not in
 * @threads. Valid until the next call. */
const char *cpu_threads_name_of(const struct cpu_threads *threads, pid_t pid,
				pid_t tid);
/* Calls @take for each thread with a known state, with its current or last CPU.
 */
typedef void cpu_threads_known(void *context, pid_t tid, int cpu);
void cpu_threads_each_known(const struct cpu_threads *threads,
			    cpu_threads_known *take, void *context);
/* Makes the state of each thread unknown from @from_ns until its next record,
 * because records were lost, perhaps of these threads. */
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
/* Returns true if process @pid is in @threads and has not called exec(). */
bool cpu_threads_have(const struct cpu_threads *threads, pid_t pid);
/* Sets @out to such processes, at most @room, the newest first. Returns their
 * number. */
size_t cpu_threads_list(const struct cpu_threads *threads, pid_t *out,
			size_t room);
void cpu_threads_take_no_more(struct cpu_threads *threads, pid_t tid,
			      uint64_t alive_ns);

/* Ends a pass over the buffers. Posts the rest of threads that ended at least
 * @passes passes ago, and forgets them. Forgets a thread whose ticks nobody has
 * taken after @keep passes. */
void cpu_threads_settle(struct cpu_threads *threads, uint32_t passes,
			uint32_t keep);
/* Ends sampling, with the kernel's count @total_ns of all threads together.
 * Posts the time of every thread, and reports to the account of the recording.
 * Reads /proc for threads that still run. */
void cpu_threads_finish(struct cpu_threads *threads, uint64_t total_ns);

#endif
