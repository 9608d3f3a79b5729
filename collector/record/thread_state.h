/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_state - one recorded thread, from the claim of a slot until it is
 * drained: what its drain worker keeps of it. It begins and ends in
 * drain/thread.c. Rooms above this one have parts of their own in it, which
 * only they know.
 */
#ifndef PERFREC_COLLECTOR_RECORD_THREAD_STATE_H
#define PERFREC_COLLECTOR_RECORD_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/jobs.h"
#include "collector/record/recording.h"
#include "collector/replay/fibers.h"
#include "collector/replay/replay.h"

struct process;
struct slot_shm;
struct states_calls;
struct thread_cpu;
struct thread_heap;
struct thread_notes;
struct thread_triggers;
struct thread_waits;

/* A wait of a thread that is over, of which it is known on what it was. */
struct thread_wait {
	uint64_t from_ns, to_ns; /* BOOTTIME: off the CPU, and back */
	const char *object; /* as long as the recording */
	uint32_t call; /* the number of the system call plus 1; 0: none */
};

/* Its drain worker's, until thread_finish() hands it to the jobs thread. */
struct thread {
	struct job job; /* for thread_finish() */
	struct process *process; /* outlives it */
	const struct process_setup *setup; /* of the process */
	const struct slot_shm *slot;
	/* Visible, since they run for every record: */
	struct replay *replay; /* of its own stack */
	struct fibers fibers; /* that one, and its contexts' */
	/* thread_cpu_on_ns(), for what may not use samples; NULL: not known. */
	bool (*on_cpu)(struct thread *thread, uint64_t ns, uint64_t *on_ns,
		       uint64_t *unknown_ns);
	/* Called for each wait, in their order; NULL: nobody wants them. */
	void (*told_wait)(struct thread *thread,
			  const struct thread_wait *wait);
	/* Parts of other rooms; each NULL until there is something to keep. */
	struct thread_notes *notes; /* notes/thread_notes.c */
	struct thread_cpu *cpu; /* samples/thread_cpu.c */
	struct thread_heap *heap; /* heap/thread_heap.c */
	struct thread_waits *waits; /* drain/thread_waits.c */
	struct thread_triggers *triggers; /* drain/thread_triggers.c */
	/* How often connected functions were called: once the thread has ended,
	 * see states_slot_calls(). */
	struct states_calls *counted;
	size_t counted_count;
	uint64_t durations_ns; /* when they are told again: BOOTTIME */
	struct thread_entry entry;
	bool tid_known; /* entry.tid is its id in our namespace */
	uint64_t uuid; /* of its track in the trace */
	uint64_t start_ns; /* BOOTTIME */
	uint32_t snapshot; /* number of the last one it is in */
	uint32_t sequence; /* of its packets in the trace */
	uint32_t name_changes; /* as of entry.name */
	uint64_t told_spans; /* what recording's live counts know of */
	uint64_t told_dropped;
	uint64_t dropped_samples; /* of CPU time; set by thread_finish() */
	uint64_t excluded_hooks, left_out_hooks; /* the same */
	bool ring_used; /* the same: by another before it, in this slot */
	bool general; /* the same: its program is PAGE_GENERAL */
	uint64_t cells; /* taken in */
	uint64_t given; /* cells whose memory was given back meanwhile */
	size_t piece_cells; /* how many are taken in at a time */
	uint64_t heap_samples, heap_sample_cells;
	uint64_t note_events; /* annotations that are no spans */
	uint64_t note_arguments, note_texts; /* prefixes, with texts or not */
};

#endif
