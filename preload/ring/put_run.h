/* SPDX-License-Identifier: Apache-2.0
 *
 * put_run - records of more than one cell, and records of one cell that are no
 * spans.
 */
#ifndef PERFREC_PRELOAD_RING_PUT_RUN_H
#define PERFREC_PRELOAD_RING_PUT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/ring/put.h"

/* What a run is about. This decides how room is made for it, and what is
 * counted when there is none. */
enum put_class {
	PUT_BEGIN, /* a span: as put_span(); its end is dropped with it */
	PUT_END, /* as put_span() */
	PUT_ALLOC, /* dropped_allocs */
	PUT_FREE, /* dropped_frees; recorded while paused, too */
	PUT_NOTE, /* dropped_notes */
	PUT_NOTE_END, /* dropped_notes; recorded while paused, too */
	PUT_SAMPLE, /* dropped_samples; never waits for room */
	PUT_STACK, /* of an allocation that is recorded: not counted */
	PUT_REALLOC, /* PUT_FREE of the address in the second cell, and
		      * PUT_ALLOC */
};

/*
 * Append a run: one record with its data, or with prefixes in front
 * (record_ext.h). It is published by one store to head, so that nothing comes
 * in between. When it is committed, the clock is written to cells[stamp] and to
 * the first cell, which must be one with a word; all else is written as it is.
 * A run of one cell may be any record. A run has at most record_run_max()
 * cells: a longer one is counted as if there were no room.
 *
 * @sp is the stack pointer of a hook in the place of the call. @function is an
 * address in the code that the thread runs, or 0. The thread is attached if
 * need be.
 *
 * Returns whether it was recorded. What is not recorded has been counted: as
 * dropped, for a thread without a slot, or in a pause (paused_spans and
 * paused_allocs; the others are not counted then). While recording is off
 * nothing is counted. Any context in which a hook may run; keeps errno.
 */
bool put_run_of(const struct put_run *run, enum put_class class, uintptr_t sp,
		uintptr_t function);

/* The same for @count cells in one place, without a function. */
bool put_run(struct record *cells, uint32_t count, uint32_t stamp,
	     enum put_class class, uintptr_t sp);

#endif
