/* SPDX-License-Identifier: Apache-2.0
 *
 * thread - the life of one recorded thread (record/thread_state.h): its begin,
 * every visit of its ring, and its end.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct arena_setup;
struct collector;
struct process;
struct ring_get;
struct slot_shm;
struct thread;

/* When @slot of @arena was claimed, in ns of BOOTTIME. The program says when;
 * it is moved into the time between the begin of the recording and now. Any
 * thread.
 */
uint64_t thread_claimed_ns(const struct collector *collector,
			   const struct arena_setup *arena,
			   const struct slot_shm *slot);

/* Every other call is for the slot's drain worker. */

/* Make *@out for the thread that has claimed @slot of @process, and write its
 * first packet. @process and @slot must outlive it; thread_finish() ends it. 0
 * or -ENOMEM. */
int thread_new(struct process *process, const struct slot_shm *slot,
	       struct thread **out);

/*
 * Take in all that is unread in @ring, and give the writer its room back piece
 * by piece. Stops between two pieces at @until_ns (BOOTTIME), or when the trace
 * lags: then ring_get_left() says that some is left. @resume: that was so at
 * the last call; it takes in no more than it had then to do. Returns how many
 * records were unread, or -EBADMSG: the program wrote nonsense.
 */
int64_t thread_drain(struct thread *thread, struct ring_get *ring, bool resume,
		     uint64_t until_ns);

/*
 * The thread has ended at @end_ns (BOOTTIME; 0: with its last event). End what
 * is open, and hand *@thread over to the jobs thread, which sums it up and
 * frees it. *@thread becomes NULL.
 */
void thread_finish(struct thread **thread, uint64_t end_ns);

#endif
