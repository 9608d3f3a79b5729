/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_state - the state of one recorded thread, from the claim of a slot
 * until it is drained. Its drain worker owns it; drain/thread.c creates and
 * ends it. Higher rooms add parts of their own.
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
#include "shared/record_ext.h"

struct process;
struct slot_shm;
struct states_calls;
struct thread_cpu;
struct thread_heap;
struct thread_locks;
struct thread_notes;
struct thread_triggers;
struct thread_waits;

/* The thread that ended a wait, as the kernel says (--wakers=kernel). */
struct thread_waker {
	/* The recording's; "outside": an interrupt; NULL: unknown. */
	const char *name;
	uint64_t ns; /* BOOTTIME */
	pid_t tid; /* in our pid namespace; 0: none */
};

/* An ended wait of a thread. */
struct thread_wait {
	uint64_t from_ns, to_ns; /* BOOTTIME: off the CPU, and back */
	const char *object; /* the recording's; NULL: not read */
	uint32_t call; /* number of the system call plus 1; 0: none */
	struct thread_waker waker;
};

/* Its drain worker's, until thread_finish() passes it to the jobs thread. */
struct thread {
	struct job job; /* for thread_finish() */
	struct process *process; /* outlives it */
	const struct process_setup *setup; /* of the process */
	const struct slot_shm *slot;
	/* Visible here because they run for every record: */
	struct replay *replay; /* of its own stack */
	struct fibers fibers; /* that one, and those of its contexts */
	/* thread_cpu_on_ns(), for rooms that may not use samples; NULL:
	 * unknown. */
	bool (*on_cpu)(struct thread *thread, uint64_t ns, uint64_t *on_ns,
		       uint64_t *unknown_ns);
	/* Called for each wait, in order; NULL: not requested. */
	void (*told_wait)(struct thread *thread,
			  const struct thread_wait *wait);
	/* Called when the start of the thread is known: at @ns (BOOTTIME), by
	 * the thread @by (outer id). NULL: not requested. */
	void (*told_start)(struct thread *thread, uint64_t ns, pid_t by);
	/* Parts of other rooms; NULL until first used. */
	struct thread_notes *notes; /* drain/thread_notes.c */
	struct thread_cpu *cpu; /* samples/thread_cpu.c */
	struct thread_heap *heap; /* heap/thread_heap.c */
	struct thread_locks *locks; /* drain/thread_locks.c */
	struct thread_waits *waits; /* drain/thread_waits.c */
	struct thread_triggers *triggers; /* drain/thread_triggers.c */
	/* Calls of connected functions, after the end of the thread: see
	 * states_slot_calls(). */
	struct states_calls *counted;
	size_t counted_count;
	struct trace_ids request; /* current request; all zero: none */
	/* time of the next report of durations: BOOTTIME */
	uint64_t durations_ns;
	struct thread_entry entry;
	bool tid_known; /* entry.tid is its id in our namespace */
	uint64_t uuid; /* of its track in the trace; see thread_stack_uuid() */
	uint64_t start_ns; /* BOOTTIME */
	uint32_t snapshot; /* number of the last snapshot with it */
	uint32_t sequence; /* of its packets in the trace */
	uint32_t name_changes; /* as of entry.name */
	uint64_t told_spans; /* included in the recording's live counts */
	uint64_t told_dropped;
	uint64_t dropped_samples; /* of CPU time; set by thread_finish() */
	uint64_t excluded_hooks, left_out_hooks; /* set by thread_finish() */
	bool ring_used; /* set by thread_finish(): the ring had another owner */
	bool general; /* set by thread_finish(): its program is PAGE_GENERAL */
	uint64_t cells; /* replayed */
	uint64_t given; /* cells whose memory we gave back meanwhile */
	size_t piece_cells; /* per piece */
	uint64_t heap_samples, heap_sample_cells;
	uint64_t note_events; /* annotations other than spans */
	/* prefixes without and with texts */
	uint64_t note_arguments, note_texts;
};

/* Returns the uuid of the track of stack @number of the thread: 0 is its own, 1
 * and up are those of its contexts. */
static inline uint64_t thread_stack_uuid(const struct thread *thread,
					 uint32_t number)
{
	return thread->uuid + number;
}

#endif
