/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_samples - CPU time by the kernel's samples (--cpu=HZ,perf), and when
 * threads ran and waited (--sched): nothing of it runs in the program. See
 * cpu_samples.c.
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

#include "collector/samples/cpu_blocked.h"

struct collector;
struct cpu_group;
struct cpu_sampler;
struct kernel_event;
struct process;
struct recording;
struct sample;
struct sched_track;

/* Starts the thread that reads; NULL in *@out, and 0, where options ask for
 * nothing that the kernel tells. 0 or -errno. */
int cpu_sampler_new(const struct collector *collector,
		    struct cpu_sampler **out);
/* All groups must be gone; the account of the tree is whole after that. Also
 * for NULL. */
void cpu_sampler_free(struct cpu_sampler **sampler);

/*
 * Sample @process from now on; it waits for the reply to its hello. The caller
 * ends the group with cpu_group_free(). NULL if the process cannot be sampled;
 * then the log and the notes of the recording say why. Main thread.
 */
struct cpu_group *cpu_group_new(struct cpu_sampler *sampler,
				struct process *process);
/* The processes of *@group are gone, or are recorded no more: count what is
 * left. No worker may ask for samples of it any more. Main thread; also for
 * NULL. */
void cpu_group_free(struct cpu_group **group);
/* With @paused take no samples of @group, else take them again. Main thread;
 * also for NULL. */
void cpu_group_pause(struct cpu_group *group, bool paused);

/* All switches of @recording up to now are handed to its trace. Any thread;
 * also for NULL. */
void cpu_sampler_flush(struct cpu_sampler *sampler,
		       const struct recording *recording);

/*
 * Count the CPU time of process @pid, which has not called exec() yet, and of
 * all processes that it makes, across execs, into the account of @recording.
 * To be called once, on the main thread; the counting ends with
 * cpu_sampler_free(). Where the kernel refuses, nothing is counted, and the
 * summary has what getrusage() says. Does nothing if @sampler is NULL.
 */
void cpu_tree_start(struct cpu_sampler *sampler, struct recording *recording,
		    pid_t pid);

/* @hz, or less if the kernel permits no more: the log says so. Any thread. */
uint32_t cpu_permitted_hz(uint32_t hz);

/* Put into @recording's notes why there are no samples (@err: -errno of the
 * kernel), and what a person can do about it. */
void cpu_explain(struct recording *recording, int err);

/* --- for drain workers --- */

/* Read what the kernel has written up to now. After that, every sample is known
 * that was taken before a record which the caller has seen before this call.
 * Takes microseconds. Any thread. */
void cpu_pull(struct cpu_group *group);
/* Move what the kernel has told of the thread that had the id @tid at @alive_ns
 * (BOOTTIME), and nobody has taken yet, to @out, at most @room events, the
 * oldest first. Returns how many. The first call for a thread sets *@before:
 * see kernel_events_take(). Any thread. */
size_t cpu_take(struct cpu_group *group, pid_t tid, uint64_t alive_ns,
		struct kernel_event *out, size_t room,
		struct sched_track *before);
/* Nobody will take events of that thread any more: none are kept. Any thread.
 */
void cpu_take_no_more(struct cpu_group *group, pid_t tid, uint64_t alive_ns);

/* --- threads that are blocked --- */

/*
 * Set @out to threads that have been blocked since before @before_ns
 * (BOOTTIME), at most @room, of which each recording has its share (turns.h);
 * each wait is told once. Returns how many; the caller gives back the samples
 * of each. Reads the kernel's buffers first. Any thread.
 */
size_t cpu_take_blocked(struct cpu_sampler *sampler, uint64_t before_ns,
			struct cpu_blocked *out, size_t room,
			struct cpu_wait_sums *sums);
/* Sets @out to processes that are recorded, at most @room: first those of the
 * group of @pid, then a few of each other group. Returns how many; one may be
 * there twice. Any thread. */
size_t cpu_list_processes(struct cpu_sampler *sampler, pid_t pid, pid_t *out,
			  size_t room);
/* @wait, from sample_new(), tells what @blocked waits on: it is posted with the
 * time of the wait when that ends. If the thread has left the wait, @wait is
 * freed. Any thread. */
void cpu_tell_wait(struct cpu_sampler *sampler,
		   const struct cpu_blocked *blocked, struct sample *wait);
/* The kernel has counted @on_ns on CPUs, and @delay_ns waiting for them, of
 * @blocked, which was read after cpu_take_blocked(). Any thread. */
void cpu_tell_anchor(struct cpu_sampler *sampler,
		     const struct cpu_blocked *blocked, uint64_t on_ns,
		     uint64_t delay_ns);

#endif
