/* SPDX-License-Identifier: Apache-2.0
 *
 * put_run - appends records of several cells, and records of one cell that are
 * no spans.
 */
#ifndef PERFREC_PRELOAD_RING_PUT_RUN_H
#define PERFREC_PRELOAD_RING_PUT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/ring/put.h"

/* The kind of a run. It determines whether the thread waits for room, and the
 * counter for a run without room. */
enum put_class {
	PUT_BEGIN, /* a span, as put_span(); dropped together with its end */
	PUT_END, /* as put_span() */
	PUT_ALLOC, /* dropped_allocs */
	PUT_FREE, /* dropped_frees; recorded even in a pause */
	PUT_NOTE, /* dropped_notes */
	PUT_NOTE_END, /* dropped_notes; recorded even in a pause */
	PUT_SAMPLE, /* dropped_samples; never waits for room */
	PUT_STACK, /* stack of a recorded allocation: not counted */
	PUT_REALLOC, /* PUT_FREE of the address in the second cell, and
		      * PUT_ALLOC */
};

/*
 * Appends a run: one record with its data and the prefixes in front
 * (record_ext.h). One store to head publishes it, so no other record comes
 * between its cells. The commit writes the clock to cells[stamp] and to the
 * first cell, which must have a word; it copies all other bytes unchanged. A
 * run of one cell may be any record. A run with more than record_run_max()
 * cells counts as a run without room.
 *
 * @sp is the stack pointer that a hook would have at the call. @function is an
 * address in the code that the thread runs, or 0. Attaches the thread if
 * necessary.
 *
 * Returns true if the run was recorded. Otherwise it is counted: as dropped, as
 * of a thread without slot, or as paused (paused_spans and paused_allocs; other
 * kinds are not counted in a pause). While recording is off, nothing is
 * counted. Callable wherever a hook may run; keeps errno.
 */
bool put_run_of(const struct put_run *run, enum put_class class, uintptr_t sp,
		uintptr_t function);

/* put_run_of() for the @count cells at @cells, without a function. */
bool put_run(struct record *cells, uint32_t count, uint32_t stamp,
	     enum put_class class, uintptr_t sp);

#endif
