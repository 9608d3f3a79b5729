/* SPDX-License-Identifier: Apache-2.0
 *
 * thread - the state of one thread: t_thread, and the stacks of open spans that
 * it points to. gate.h has the state of the process.
 */
#ifndef PERFREC_PRELOAD_CORE_THREAD_H
#define PERFREC_PRELOAD_CORE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/core/thread_asm.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

struct open_span {
	uint64_t function;
	uint64_t sp;
};

#define SPAN_STACK_MAX 255

/* The open spans with a withheld begin (span_stack.h). Private to one thread,
 * in memory that is zero in a forked child. */
struct span_stack {
	uint64_t count;
	uint64_t above; /* spans opened while the stack was full */
	struct open_span span[SPAN_STACK_MAX];
};

#define DEPTH_POINTS 64 /* a power of two */
#define DEPTH_STACK_MAX 4030 /* spans; the struct is 64 KiB, rarely touched */

/* With --depth: the known open spans (depth.c). Private to one thread, in
 * memory that is zero in a forked child. */
struct depth_stack {
	volatile uint64_t count;
	volatile uint64_t least; /* least count since the last FLOW record */
	volatile uint64_t over; /* opened while it was full, and recorded */
	uint64_t unused;
	volatile struct depth_point {
		uint64_t address; /* of a jmp_buf; 0: none */
		uint64_t count; /* entries unchanged since setjmp() */
	} point[DEPTH_POINTS];
	volatile struct open_span span[DEPTH_STACK_MAX];
};

_Static_assert(sizeof(struct depth_stack) == 1 << 16, "whole pages");

struct thread_state {
	uint64_t epoch; /* of the process that claimed the slot */
	uint32_t aborts; /* restarts of the fast path */
	uint32_t index; /* of the slot */
	uint64_t limit_begin; /* begins take the slow path from here */
	uint64_t limit_end; /* ends take the slow path from here */
	struct slot_shm *slot;
	struct record *cells;
	uint64_t mask;
	uint64_t no_rseq; /* rseq_cs of a thread without an rseq area */
	uint64_t *excluded; /* slot->excluded_hooks; NULL: no slot */
	struct count_cell *counts; /* of the slot; valid only in its epoch */
	uint16_t untold; /* excluded hooks without a slot to count them */

	/* Slow paths only. */
	uint64_t epoch_before_vfork;
	uint64_t touched; /* cells that were faulted in */
	uint64_t touched_head; /* head at the end of these cells */
	struct span_stack *withheld; /* begins dropped, or while paused */
	struct depth_stack *depth; /* NULL: no limit */
	uintptr_t put_sp; /* of the hook that is putting; 0: none */
	uint64_t lost_spans; /* since the last LOSS record */
	uint64_t lost_clock; /* when the first of them began */
	uint64_t paused_spans; /* since the last PAUSED record */
	uint64_t paused_clock; /* when the first of them began */
	uint64_t lost_ends; /* since the last TRUNC record */
	uint64_t late_begins; /* begins of put_begin_late() without room */
	uint64_t lost_allocs; /* since the last EXT_ALLOC_LOSS */
	uint64_t lost_frees;
	/* The last record without room that is no span: the tail then, its
	 * cells, and the drops in a row. */
	uint64_t full_tail;
	uint64_t full_cells;
	uint64_t full_drops;
	uint64_t wait_clock; /* start of the last wait for room */
	uint32_t stopped_heartbeat; /* heartbeat of the stopped collector */
	uint32_t generation; /* of the load map, as in this thread's ring */
	uint16_t looks; /* map_log.c: number of functions still to check */
	bool in_map; /* map_log.c: this thread may hold map_lock */
	bool stopped; /* the collector was stopped at the last wait */
	bool in_vfork; /* until the parent returns from vfork() */
	bool unslotted; /* no slot was free */
	bool muted; /* must not read the clock: slot_mute() */
	uint8_t destructor_rounds;
	uint16_t retry; /* events until the next attempt to claim a slot */
};

_Static_assert(offsetof(struct thread_state, epoch) == T_EPOCH, "asm");
_Static_assert(offsetof(struct thread_state, aborts) == T_ABORTS, "asm");
_Static_assert(offsetof(struct thread_state, limit_begin) == T_LIMIT_BEGIN,
	       "asm");
_Static_assert(offsetof(struct thread_state, limit_end) == T_LIMIT_END, "asm");
_Static_assert(offsetof(struct thread_state, slot) == T_SLOT, "asm");
_Static_assert(offsetof(struct thread_state, cells) == T_CELLS, "asm");
_Static_assert(offsetof(struct thread_state, mask) == T_MASK, "asm");
_Static_assert(offsetof(struct thread_state, no_rseq) == T_NO_RSEQ, "asm");
_Static_assert(offsetof(struct thread_state, excluded) == T_EXCLUDED, "asm");
_Static_assert(offsetof(struct thread_state, counts) == T_COUNTS, "asm");
_Static_assert(offsetof(struct thread_state, untold) == T_UNTOLD, "asm");
_Static_assert(UNTOLD_ALL == (UINT16_MAX + 1) / UNTOLD_ONE, "asm");

extern __thread struct thread_state t_thread;

/* The offset from t_thread to the thread's rseq_cs word (rseq(2)): in the area
 * that libc has registered, or no_rseq if there is none. */
extern long g_rseq_cs __attribute__((visibility("hidden")));

#endif
