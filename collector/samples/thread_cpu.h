/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_cpu - assigns the kernel's events of a thread to its spans: the span
 * that was open at a sample, or when the thread left the CPU. thread_cpu.c has
 * the design.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_THREAD_CPU_H
#define PERFREC_COLLECTOR_SAMPLES_THREAD_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/record.h"

struct replay;
struct thread;

/* The kernel's counts of a thread. */
struct sched_end {
	uint64_t on_ns, delay_ns; /* on CPUs, and waiting for one */
};

/* All functions are for the slot's drain worker. */

/* Returns true if the kernel reports events of @thread, with thread->cpu, which
 * the first call makes. Returns false also without memory: then the thread's
 * samples are in the profile, but in no span, and its waits are unknown. */
bool thread_cpu_begin(struct thread *thread);

/* Fetches all kernel events of @thread that are older than the records in its
 * ring. The head of the ring must have been read before. */
void thread_cpu_fetch(struct thread *thread);
/*
 * Returns how many of the @count records at @cells, which replay handles next,
 * come before the next kernel event, at least one. Assigns events older than
 * the first record to the span that is open now.
 */
size_t thread_cpu_split(struct thread *thread, const struct record *cells,
			size_t count);
/* Counts the events older than @ns (BOOTTIME), after all records older than @ns
 * are replayed. */
void thread_cpu_count(struct thread *thread, uint64_t ns);
/* Counts the time until @ns in the state of the last event, so that a copy of
 * the trees made now has all time. */
void thread_cpu_look(struct thread *thread, uint64_t ns);
/* Sets *@on_ns to the time of the thread on a CPU until @ns, and *@unknown_ns
 * to the time in an unknown state. @ns is the time of the current record, or
 * all records are replayed. Returns false if nothing is known. */
bool thread_cpu_on_ns(struct thread *thread, uint64_t ns, uint64_t *on_ns,
		      uint64_t *unknown_ns);
/* Makes the state of @thread after its last record unknown, if the kernel has
 * not reported its end: it may have called exec(). The process of @thread is
 * gone, all records are replayed, and the thread has not reported its end. */
void thread_cpu_lose_end(struct thread *thread);
/* Ends the counts of a thread that ended at @ns, or earlier if that is unknown
 * (0), after all its records are replayed. @end has the kernel's counts; NULL:
 * unknown. Puts the sums into thread->entry, and frees thread->cpu. Returns
 * when the thread ended: @ns, or earlier by the kernel's events. */
uint64_t thread_cpu_finish(struct thread *thread, uint64_t ns,
			   const struct sched_end *end);
/* Counts an EXT_CPU_SAMPLE of @count cells, a copy: a sample that the thread of
 * @replay took of itself. */
void thread_cpu_own(struct replay *replay, const struct record *cells,
		    size_t count);

#endif
