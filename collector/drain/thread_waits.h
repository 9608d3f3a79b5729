/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_waits - the waits of a thread on the timeline: slices, named by what
 * was waited on, on a track below that of the thread.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_WAITS_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_WAITS_H

struct thread;
struct thread_wait;

/* Every call is for the slot's drain worker. */

/* Write @wait, which is behind the waits before it, into the trace: at the next
 * thread_waits_flush() at the latest. The first one makes the track. A wait for
 * which there is no memory is left out, and so is one while the disk hangs
 * (trace_file_admits()). */
void thread_waits_tell(struct thread *thread, const struct thread_wait *wait);
/* Hand over what was written. */
void thread_waits_flush(struct thread *thread);
/* The same, and free thread->waits. */
void thread_waits_finish(struct thread *thread);

#endif
