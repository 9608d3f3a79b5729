/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_samples - CPU time by the kernel's samples (--cpu=HZ,perf): nothing of it
 * runs in the program. See cpu_samples.c.
 *
 * A cpu_group is what is sampled of one arena: the program that said hello,
 * and all that it forks, until they exec.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_CPU_SAMPLES_H
#define PERFREC_COLLECTOR_SAMPLES_CPU_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct collector;
struct cpu_group;
struct cpu_sampler;
struct cpu_tick;
struct process;
struct recording;

/* Starts the thread that reads; NULL in *@out, and 0, where options ask for no
 * such samples. 0 or -errno. */
int cpu_sampler_new(const struct collector *collector,
		    struct cpu_sampler **out);
/* All groups must be gone; the account of the tree is whole after that. Also
 * for NULL. */
void cpu_sampler_free(struct cpu_sampler **sampler);

/*
 * Sample @process, which waits for its hello's reply, from now on. NULL: it
 * cannot be done; then the log and the recording's notes say why. Main thread.
 */
struct cpu_group *cpu_group_new(struct cpu_sampler *sampler,
				struct process *process);
/* Its processes are gone, or recorded no more: count what is left. Main
 * thread; no worker asks any more. Also for NULL. */
void cpu_group_free(struct cpu_group **group);
/* Sample it not, or again. Main thread; also for NULL. */
void cpu_group_pause(struct cpu_group *group, bool paused);

/*
 * Count the time of process @pid, which has not exec'd yet, and of all that it
 * makes, across execs, into @recording's account. Once, on the main thread; it
 * ends with cpu_sampler_free(). What cannot be counted is not: then
 * getrusage() has to do. NULL as @sampler: nothing.
 */
void cpu_tree_start(struct cpu_sampler *sampler, struct recording *recording,
		    pid_t pid);

/* Put into @recording's notes why there are no samples, and what to do. */
void cpu_explain(struct recording *recording, int err);

/* --- for drain workers --- */

/* Take in what the kernel has written up to now: then all samples are known
 * that are older than a record which was seen before. Short. Any thread. */
void cpu_pull(struct cpu_group *group);
/* Take the samples of thread @tid that nobody took yet, at most @room of
 * them, the oldest first. Any thread. */
size_t cpu_take(struct cpu_group *group, pid_t tid, struct cpu_tick *out,
		size_t room);
/* Nobody will take samples of @tid any more. */
void cpu_take_no_more(struct cpu_group *group, pid_t tid);

#endif
