/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_samples - CPU time from the kernel's samples (--cpu=HZ,perf), and running
 * and waiting times of threads (--sched). None of this code runs in the
 * program. cpu_samples.c has the design.
 *
 * A cpu_group has the samples of one arena: the program that said hello, and
 * all its forked children until they exec.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_CPU_SAMPLES_H
#define PERFREC_COLLECTOR_SAMPLES_CPU_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/samples/cpu_blocked.h"

struct collector;
struct cpu_group;
struct cpu_sampler;
struct kernel_event;
struct process;
struct recording;
struct sample;
struct sched_track;
struct wait_wakers;

/* Starts the reading thread. Sets *@out to NULL, and returns 0, if the options
 * request nothing from the kernel. Returns 0 or -errno. */
int cpu_sampler_new(struct collector *collector, struct cpu_sampler **out);
/* After all groups are freed; then the account of the tree is complete. Accepts
 * NULL. */
void cpu_sampler_free(struct cpu_sampler **sampler);

/*
 * Samples @process from now on; it is waiting for the reply to its hello. The
 * caller ends the group with cpu_group_free(). Returns NULL if the process
 * cannot be sampled, and notes the reason in the log and the recording. Main
 * thread.
 */
struct cpu_group *cpu_group_new(struct cpu_sampler *sampler,
				struct process *process);
/* Counts the remaining records of *@group, whose processes are gone or no
 * longer recorded. No worker may use it any more. Main thread; accepts NULL. */
void cpu_group_free(struct cpu_group **group);
/* Stops (@paused) or resumes sampling of @group. Main thread; accepts NULL. */
void cpu_group_pause(struct cpu_group *group, bool paused);

/* Submits all switches of @recording up to now to its trace. Any thread;
 * accepts NULL. */
void cpu_sampler_flush(struct cpu_sampler *sampler,
		       const struct recording *recording);

/*
 * Adds the CPU time of process @pid, which has not called exec() yet, and of
 * all its descendants, across execs, to the account of @recording. Call once,
 * on the main thread; cpu_sampler_free() ends it. If the kernel refuses, the
 * summary has only the sums of getrusage(). Does nothing if @sampler is NULL.
 */
void cpu_tree_start(struct cpu_sampler *sampler, struct recording *recording,
		    pid_t pid);

/* Returns @hz, or the lower rate that the kernel permits, and logs that. Any
 * thread. */
uint32_t cpu_permitted_hz(uint32_t hz);

/* Notes in @recording why there are no samples (@err: -errno of the kernel),
 * and the remedy. */
void cpu_explain(struct recording *recording, int err);

/* --- for drain workers --- */

/* Reads all records that the kernel has written up to now. Afterwards all
 * samples older than any record that the caller has already seen are known.
 * Takes microseconds. Any thread. */
void cpu_pull(struct cpu_group *group);
/* Moves the oldest events, at most @room, of the thread that had the id @tid at
 * @alive_ns (BOOTTIME) to @out. Returns their number. The first call for a
 * thread sets *@before: see kernel_events_take(). Any thread. */
size_t cpu_take(struct cpu_group *group, pid_t tid, uint64_t alive_ns,
		struct kernel_event *out, size_t room,
		struct sched_track *before);
/* Stops keeping events of that thread. Any thread. */
void cpu_take_no_more(struct cpu_group *group, pid_t tid, uint64_t alive_ns);

/* --- blocked threads --- */

/*
 * Sets @out to threads blocked since before @before_ns (BOOTTIME), at most
 * @room, shared out among recordings (turns.h). Reports each wait once. Returns
 * their number; the caller releases the samples of each. Reads the kernel's
 * buffers first. Any thread.
 */
size_t cpu_take_blocked(struct cpu_sampler *sampler, uint64_t before_ns,
			struct cpu_blocked *out, size_t room,
			struct cpu_wait_sums *sums);
/* Sets @out to recorded processes, at most @room: first those of the group of
 * @pid, then a few of each other group. Returns their number; a process may be
 * there twice. Any thread. */
size_t cpu_list_processes(struct cpu_sampler *sampler, pid_t pid, pid_t *out,
			  size_t room);
/* Attaches @wait, from sample_new(), to the wait of @blocked. It is posted with
 * the duration of the wait when that ends. Frees @wait if the thread has
 * already left the wait. Any thread. */
void cpu_tell_wait(struct cpu_sampler *sampler,
		   const struct cpu_blocked *blocked, struct sample *wait);
/* Reports the files that the wait of @blocked is for, before cpu_tell_wait(), and
 * marks descriptors of their other ends. Any thread. */
void cpu_tell_wakers(struct cpu_sampler *sampler,
		     const struct cpu_blocked *blocked,
		     const struct wait_wakers *wakers);
/* Reports the kernel's counts of @blocked, read after cpu_take_blocked():
 * @on_ns on CPUs, and @delay_ns waiting for one. Any thread. */
void cpu_tell_anchor(struct cpu_sampler *sampler,
		     const struct cpu_blocked *blocked, uint64_t on_ns,
		     uint64_t delay_ns);

#endif
