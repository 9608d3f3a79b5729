/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_cpu - counts the kernel's samples of a thread by what it was in: by
 * the span that was open when a sample was taken. See thread_cpu.c.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_THREAD_CPU_H
#define PERFREC_COLLECTOR_SAMPLES_THREAD_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/record.h"

struct replay;
struct thread;

/* Every call is for the slot's drain worker. */

/* Whether the kernel samples @thread. True: thread->cpu is there, which this
 * makes when it is first asked. False also when there is no memory for it: then
 * the thread's samples are in the profile, but in no span. */
bool thread_cpu_begin(struct thread *thread);

/* Learn of the samples that are older than what lies in the ring, whose head
 * was read before this. */
void thread_cpu_fetch(struct thread *thread);
/*
 * Of @count records that replay is to take in next, how many come before the
 * next sample: at least one. Counts the samples that are older than the first,
 * where the thread is now.
 */
size_t thread_cpu_split(struct thread *thread, const struct record *cells,
			size_t count);
/* There is no record older than @ns that was not replayed: count the samples
 * that are. */
void thread_cpu_count(struct thread *thread, uint64_t ns);
/* The thread has ended, and all of its records are replayed. Frees
 * thread->cpu. */
void thread_cpu_finish(struct thread *thread);
/* EXT_CPU_SAMPLE: a sample that @replay's thread took of itself. */
void thread_cpu_own(struct replay *replay, const struct record *cells,
		    size_t count);

#endif
