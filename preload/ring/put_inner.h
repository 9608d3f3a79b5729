/* SPDX-License-Identifier: Apache-2.0
 *
 * put_inner - what put.c and put_run.c have of each other. Attached threads
 * only; any context.
 */
#ifndef PERFREC_PRELOAD_RING_PUT_INNER_H
#define PERFREC_PRELOAD_RING_PUT_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/ring/put.h"
#include "preload/ring/put_room.h"
#include "shared/atomic.h"

enum put_result {
	PUT_DONE,
	PUT_AGAIN, /* a handler recorded meanwhile */
	PUT_NOT, /* no room, or no longer the same process */
};

/* How a put ended. */
enum put_end {
	PUT_RECORDED,
	PUT_COUNTED, /* no room: as dropped, paused ... (of put_other(): not
		      * yet counted) */
	PUT_CHILD, /* a handler forked; this is the child, without a slot */
};

/* One instruction, so that a handler's count in between is not lost. */
static inline void count_up(uint64_t *counter)
{
#if defined(__x86_64__)
	__asm__ volatile("incq %0" : "+m"(*counter) : : "cc");
#else
	/* relaxed: a count */
	atom_add_rlx(counter, 1);
#endif
}

/* Takes what has been counted, in one instruction as well. */
static inline uint64_t count_take(uint64_t *counter)
{
	/* order: sc, COUNT: a handler finds it taken or not */
	return atom_xchg_sc(counter, 0);
}

/* Whether this is still the process that claimed the slot. */
bool put_same_process(void);
/* Whether the collector, or the program, has asked for a pause. */
bool put_is_paused(void);
/* Whether every event has to take the slow path. */
bool put_must_see_all(void);

static inline uint64_t run_cells(const struct put_run *run)
{
	return run ? run->count + run->behind_cells : 1;
}

/* Append @run if there is room at once; the clock is g_shim.clock. */
bool put_run_now(const struct put_run *run, enum put_limit which);

/* Append a BEGIN or END, which is @word, or the last record of @run; makes
 * room and withholds it as it must. @sp is the stack pointer of its hook. */
enum put_end put_span(uint64_t word, const struct put_run *run, uintptr_t sp);

/* The same for a record that is no span: nothing is withheld for it, and the
 * caller counts it when there was no room. */
enum put_end put_other(uint64_t word, const struct put_run *run, bool wait);

#endif
