/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_threads - the threads and processes of one cpu_group (cpu_samples.h):
 * what was sampled of each, and what the kernel has counted. Under a lock of
 * the caller's; nothing here waits.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_CPU_THREADS_H
#define PERFREC_COLLECTOR_SAMPLES_CPU_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_process;
struct cpu_thread;
struct perf_record;
struct process;
struct recording;
struct sampler;

/* @count samples were taken at @ns. */
struct cpu_tick {
	uint64_t ns; /* BOOTTIME */
	uint32_t count;
};

struct cpu_threads {
	struct sampler *sampler;
	struct recording *recording; /* outlives it */
	uint64_t period_ns;
	bool no_kernel; /* kernel time is counted, but not sampled */
	size_t reads; /* that a thread tells its time with, when it ends */
	struct cpu_process *processes; /* the first one last */
	struct cpu_thread **table; /* hash chains by tid */
	uint32_t count, mask;
	bool ticks_wanted; /* a drain worker has asked for some */
	uint32_t silent; /* threads that ended and never told all their time */
	uint64_t counted_ns; /* that all threads told */
};

/* For @process, which need not outlive it. @reads: how many events of a thread
 * count, one for each CPU. 0 or -errno. */
int cpu_threads_init(struct cpu_threads *threads, const struct process *process,
		     uint64_t period_ns, bool no_kernel, size_t reads);
void cpu_threads_release(struct cpu_threads *threads);
/* A thread that was there at hello, and has an event of its own. */
void cpu_threads_add_first(struct cpu_threads *threads, pid_t pid, pid_t tid);

/* What records say. */
void cpu_threads_sample(struct cpu_threads *threads,
			const struct perf_record *record);
void cpu_threads_fork(struct cpu_threads *threads,
		      const struct perf_record *record);
void cpu_threads_name(struct cpu_threads *threads,
		      const struct perf_record *record);
void cpu_threads_count(struct cpu_threads *threads,
		       const struct perf_record *record);
void cpu_threads_exit(struct cpu_threads *threads,
		      const struct perf_record *record);

size_t cpu_threads_take(struct cpu_threads *threads, pid_t tid,
			struct cpu_tick *out, size_t room);
void cpu_threads_take_no_more(struct cpu_threads *threads, pid_t tid);

/* A pass is over: post what is left of the threads that have ended at least
 * @passes before, and forget them; of those whose ticks nobody has taken yet,
 * @keep passes after. */
void cpu_threads_settle(struct cpu_threads *threads, uint32_t passes,
			uint32_t keep);
/* It is over, and the kernel has counted @total_ns of all threads: post the
 * time of everybody, and tell the recording's account. Reads files of threads
 * that still run. */
void cpu_threads_finish(struct cpu_threads *threads, uint64_t total_ns);

#endif
