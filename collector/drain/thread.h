/* SPDX-License-Identifier: Apache-2.0
 *
 * thread - the life of one recorded thread (record/thread_state.h): its start,
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

/* Returns when @slot of @arena was claimed, in ns of BOOTTIME. The program
 * writes this time, so it is clamped to the start of the recording and now. Any
 * thread. */
uint64_t thread_claimed_ns(const struct collector *collector,
			   const struct arena_setup *arena,
			   const struct slot_shm *slot);

/* All other functions are for the slot's drain worker. */

/* Creates the thread that has claimed @slot of @process, and writes its first
 * packet. @process and @slot must outlive it; thread_finish() ends it. Returns
 * 0 or -ENOMEM. */
int thread_new(struct process *process, const struct slot_shm *slot,
	       struct thread **out);

/*
 * Reads all unread records of @ring, and returns room to the writer piece by
 * piece. Stops between two pieces at @until_ns (BOOTTIME), or when the trace
 * lags; then ring_get_left() is not 0. @resume: continues a call that stopped,
 * up to the head seen by that call. Returns how many records were unread, or
 * -EBADMSG: the program wrote nonsense.
 */
int64_t thread_drain(struct thread *thread, struct ring_get *ring, bool resume,
		     uint64_t until_ns);

/*
 * Ends the thread at @end_ns (BOOTTIME; 0: at its last event). Ends open
 * slices, hands the thread to the jobs thread, which sums it up and frees it,
 * and sets *@thread to NULL.
 */
void thread_finish(struct thread **thread, uint64_t end_ns);

#endif
