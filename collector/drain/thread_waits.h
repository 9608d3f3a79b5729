/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_waits - writes the waits of a thread to the trace: slices, named by
 * the object, on a track below that of the thread.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_WAITS_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_WAITS_H

#include <stdint.h>
#include <sys/types.h>

struct thread;
struct thread_wait;

/* All functions are for the slot's drain worker. */

/* Adds @wait, which comes after all earlier waits, to the trace, at the next
 * thread_waits_flush() at the latest. The first one makes the track. Drops the
 * wait without memory, or while the disk hangs (trace_file_admits()). */
void thread_waits_tell(struct thread *thread, const struct thread_wait *wait);
/* Adds an instant at @ns (BOOTTIME), when the thread @by (outer id) started this
 * one. Drops it like a wait. */
void thread_waits_started(struct thread *thread, uint64_t ns, pid_t by);
/* Adds a suspension of stack @number (0: the thread's own, 1 and up: a
 * context's), on a track below its own. */
void thread_waits_suspended(struct thread *thread, uint32_t number,
			    uint64_t from_ns, uint64_t to_ns);
/* Returns the uuid of the track of waits, which is in the trace from now on; 0:
 * no memory. */
uint64_t thread_waits_track(struct thread *thread);
/* Submits the packets. */
void thread_waits_flush(struct thread *thread);
/* Flushes, and frees thread->waits. */
void thread_waits_finish(struct thread *thread);

#endif
