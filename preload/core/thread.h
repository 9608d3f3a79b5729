/* SPDX-License-Identifier: Apache-2.0
 *
 * thread - what the shim keeps for each thread: t_thread, and the stacks of
 * open spans that it points to. What it keeps for the process is in gate.h.
 */
#ifndef PERFREC_PRELOAD_CORE_THREAD_H
#define PERFREC_PRELOAD_CORE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/core/thread_asm.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

/* A span that is open, in a stack of the shim. */
struct open_span {
	uint64_t function;
	uint64_t sp;
};

#define SPAN_STACK_MAX 255

/* The open spans whose begin was withheld (span_stack.h). Private to one
 * thread, in memory that a forked child finds empty. */
struct span_stack {
	uint64_t count;
	uint64_t above; /* spans opened while it was full */
	struct open_span span[SPAN_STACK_MAX];
};

#define DEPTH_POINTS 64 /* a power of two */
#define DEPTH_STACK_MAX 4030 /* spans; all of it is 64 KiB, rarely touched */

/* With --depth: the open spans, as far as they are known (depth.c). Private to
 * one thread, in memory that a forked child finds empty. */
struct depth_stack {
	volatile uint64_t count;
	volatile uint64_t least; /* of count, since the last FLOW record */
	volatile uint64_t over; /* opened while it was full, and recorded */
	uint64_t unused;
	volatile struct depth_point {
		uint64_t address; /* of a jmp_buf; 0: none */
		uint64_t count; /* entries that are as when it was set */
	} point[DEPTH_POINTS];
	volatile struct open_span span[DEPTH_STACK_MAX];
};

_Static_assert(sizeof(struct depth_stack) == 1 << 16, "whole pages");

struct thread_state {
	uint64_t epoch; /* of the process that claimed the slot */
	uint32_t aborts; /* restarts of the fast path since the last look */
	uint32_t index; /* of the slot */
	uint64_t limit_begin; /* from this head on begins take the slow path */
	uint64_t limit_end; /* the same of ends */
	struct slot_shm *slot;
	struct record *cells;
	uint64_t mask;
	uint64_t no_rseq; /* in place of rseq_cs where there is no rseq area */
	uint64_t *excluded; /* slot->excluded_hooks; NULL: no slot */
	struct count_cell *counts; /* of the slot; only with its epoch */
	uint16_t untold; /* without a slot: UNTOLD_ONE for each such hook */

	/* Slow paths only. */
	uint64_t epoch_before_vfork;
	uint64_t touched; /* cells whose pages this thread has mapped */
	uint64_t touched_head; /* head up to which they reach */
	struct span_stack *withheld; /* begins dropped, or while paused */
	struct depth_stack *depth; /* NULL: no limit, or nothing is left out */
	uintptr_t put_sp; /* of the hook that is putting; 0: none */
	uint64_t lost_spans; /* since the last LOSS record */
	uint64_t lost_clock; /* when the first of them began */
	uint64_t paused_spans; /* since the last PAUSED record */
	uint64_t paused_clock; /* when the first of them began */
	uint64_t lost_ends; /* since the last TRUNC record */
	uint64_t late_begins; /* of put_begin_late(), that found no room */
	uint64_t lost_allocs; /* since the last EXT_ALLOC_LOSS */
	uint64_t lost_frees;
	/* The last record that is no span and found no room: the tail then, its
	 * cells, and how many were dropped in a row. */
	uint64_t full_tail;
	uint64_t full_cells;
	uint64_t full_drops;
	uint64_t wait_clock; /* when it last began to wait for room */
	uint32_t stopped_heartbeat; /* at which the collector was stopped */
	uint32_t generation; /* of the load map, as this thread's ring says */
	uint16_t looks; /* map_log.c: functions yet to look at */
	bool in_map; /* map_log.c: this thread may hold map_lock */
	bool stopped; /* the collector was, when last waited for */
	bool in_vfork; /* set until the parent is back from vfork() */
	bool unslotted; /* no slot was free */
	bool muted; /* it may not read the clock: slot_mute() */
	uint8_t destructor_rounds;
	uint16_t retry; /* events until the next try for a slot */
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

/* The offset of a thread's rseq_cs word (rseq(2)) from its t_thread: of the one
 * that libc has registered or, where there is none, of no_rseq. */
extern long g_rseq_cs __attribute__((visibility("hidden")));

#endif
