/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_cpu - counts what the kernel tells of a thread by what the thread was
 * in: by the span that was open when a sample was taken, or when the thread
 * left the CPU. See thread_cpu.c.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_THREAD_CPU_H
#define PERFREC_COLLECTOR_SAMPLES_THREAD_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/record.h"

struct replay;
struct thread;

/* What the kernel has counted of a thread. */
struct sched_end {
	uint64_t on_ns, delay_ns; /* on CPUs, and waiting for one */
};

/* Every call is for the slot's drain worker. */

/* Whether the kernel tells of @thread. True: thread->cpu is there, which this
 * makes when it is first asked. False also when there is no memory for it: then
 * the thread's samples are in the profile, but in no span, and nothing is known
 * of its waits. */
bool thread_cpu_begin(struct thread *thread);

/* Learn of all that the kernel told of @thread that are older than the records
 * in its ring. The head of the ring must have been read before. */
void thread_cpu_fetch(struct thread *thread);
/*
 * Replay is to take in the @count records at @cells next. Returns how many of
 * them come before the next event of the kernel, at least one. Events that are
 * older than the first of these records are counted by the span that is open
 * now.
 */
size_t thread_cpu_split(struct thread *thread, const struct record *cells,
			size_t count);
/* All records older than @ns (BOOTTIME) have been replayed: count the events
 * that are older than @ns. */
void thread_cpu_count(struct thread *thread, uint64_t ns);
/* Count the time until @ns in which the thread is as it was at its last event:
 * whoever copies its trees now has all time in them. */
void thread_cpu_look(struct thread *thread, uint64_t ns);
/* Sets *@on_ns to the time that the thread was on a CPU until @ns, and
 * *@unknown_ns to the time when its state is unknown. @ns is the time of the
 * record that is replayed now, or all are replayed. False: nothing is known. */
bool thread_cpu_on_ns(struct thread *thread, uint64_t ns, uint64_t *on_ns,
		      uint64_t *unknown_ns);
/* The process of @thread is gone, all records are replayed, and the thread has
 * not reported its end. If the kernel has not reported it either, the state
 * of the thread after its last record is unknown: it may have called exec(). */
void thread_cpu_lose_end(struct thread *thread);
/* The thread has ended at @ns, or before if that is not known (0), and all of
 * its records are replayed. @end has the kernel's counts; NULL: they are
 * unknown. Puts the sums into thread->entry, and frees thread->cpu.
 * Returns when the thread ended: @ns, or earlier where the kernel says so. */
uint64_t thread_cpu_finish(struct thread *thread, uint64_t ns,
			   const struct sched_end *end);
/* Count an EXT_CPU_SAMPLE of @count cells, a copy: a sample that the thread of
 * @replay took of itself. */
void thread_cpu_own(struct replay *replay, const struct record *cells,
		    size_t count);

#endif
