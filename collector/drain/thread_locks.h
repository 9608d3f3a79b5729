/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_locks - reads a thread's records of contended calls of locks
 * (EXT_SYNC_WAIT and so on, record_ext.h), and feeds them to process_locks.h.
 * All functions are for the slot's drain worker.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_LOCKS_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record;
struct replay;
struct thread;
struct thread_wait;

/* Takes a record of @count cells, which are a copy. Returns 0, or -EBADMSG for
 * a record that the shim never writes. Without memory the record is dropped. */
int thread_locks_record(struct thread *thread, struct replay *replay,
			const struct record *cells, size_t count);
/* Takes @wait, which the kernel's switches show, if the thread has records of
 * locks. As a part of a recorded wait it only names the lock. Returns false
 * if the caller must write it. */
bool thread_locks_tell(struct thread *thread, const struct thread_wait *wait);
/* Ends the current wait, if any, of a @thread that ends with its process at @end_ns
 * (BOOTTIME; 0: unknown). */
void thread_locks_end_wait(struct thread *thread, uint64_t end_ns);
/* Called after each visit of the ring. */
void thread_locks_flush(struct thread *thread);
/* Ends the feed, and frees thread->locks. */
void thread_locks_finish(struct thread *thread);

#endif
