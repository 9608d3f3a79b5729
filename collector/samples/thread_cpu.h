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

/* Learn of all samples of @thread that are older than the records in its ring.
 * The head of the ring must have been read before. */
void thread_cpu_fetch(struct thread *thread);
/*
 * Replay is to take in the @count records at @cells next. Returns how many of
 * them come before the next sample, at least one. Samples that are older than
 * the first of these records are counted by the span that is open now.
 */
size_t thread_cpu_split(struct thread *thread, const struct record *cells,
			size_t count);
/* All records older than @ns (BOOTTIME) have been replayed: count the samples
 * that are older than @ns. */
void thread_cpu_count(struct thread *thread, uint64_t ns);
/* The thread has ended, and all of its records are replayed. Frees
 * thread->cpu. */
void thread_cpu_finish(struct thread *thread);
/* Count an EXT_CPU_SAMPLE of @count cells, a copy: a sample that the thread of
 * @replay took of itself. */
void thread_cpu_own(struct replay *replay, const struct record *cells,
		    size_t count);

#endif
