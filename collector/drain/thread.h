/* SPDX-License-Identifier: Apache-2.0
 *
 * thread - one recorded thread, from the claim of a slot until it is drained:
 * what its worker keeps of it.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/replay/fibers.h"
#include "collector/base/jobs.h"
#include "collector/record/recording.h"
#include "collector/replay/replay.h"
#include "collector/heap/thread_heap.h"
#include "collector/samples/thread_cpu.h"

struct process;
struct ring_get;
struct slot_shm;
struct thread_notes;

struct thread {
	struct job job; /* for thread_finish() */
	struct process *process;
	const struct slot_shm *slot;
	struct replay replay; /* of its own stack */
	struct fibers fibers; /* that one, and its contexts' */
	struct thread_notes *notes; /* NULL: none yet */
	struct thread_cpu cpu; /* of the kernel's samples */
	struct thread_entry entry;
	bool tid_known; /* entry.tid is its id in our namespace */
	uint64_t uuid;
	uint64_t start_ns;
	uint32_t snapshot; /* number of the last one it is in */
	uint32_t sequence;
	uint32_t name_changes; /* as of entry.name */
	struct thread_heap heap;
	uint64_t told_spans; /* what recording's live counts know of */
	uint64_t told_dropped;
	uint64_t dropped_samples; /* of CPU time; set by thread_finish() */
	uint64_t excluded_hooks, left_out_hooks; /* the same */
	bool ring_used; /* by another before, and */
	bool general; /* its program is PAGE_GENERAL: the same */
	uint64_t cells; /* taken in */
	uint64_t heap_samples, heap_sample_cells;
	uint64_t note_events; /* annotations that are no spans */
	uint64_t note_arguments, note_texts; /* prefixes, with texts or not */
};

/* Every call is for the slot's drain worker. */

/* The thread that has claimed @slot of @process; its first packet is written.
 * 0 or -ENOMEM. */
int thread_new(struct process *process, const struct slot_shm *slot,
	       struct thread **out);

/*
 * Take in all that is unread in @ring, telling the writer as room comes free.
 * Returns how many records it was, or -EBADMSG: the program wrote nonsense.
 */
int64_t thread_drain(struct thread *thread, struct ring_get *ring);

/*
 * The thread has ended at @end_ns, or 0: with its last event. Ends what is
 * open and hands *@thread over to the jobs thread, which sums it up and frees
 * it.
 */
void thread_finish(struct thread **thread, uint64_t end_ns);

#endif
