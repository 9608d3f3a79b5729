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

/* What a run of cells is about: what makes room for it, and what is counted
 * when there is none. */
enum put_class {
	PUT_BEGIN, /* a span: as put_record(); its end is dropped with it */
	PUT_END,
	PUT_ALLOC, /* dropped_allocs */
	PUT_FREE, /* dropped_frees; recorded while recording is paused, too */
	PUT_NOTE, /* dropped_notes */
	PUT_NOTE_END, /* the same; recorded while recording is paused, too */
	PUT_SAMPLE, /* dropped_samples; never waits for room */
	PUT_STACK, /* of an allocation that is recorded: not counted */
	PUT_REALLOC, /* both PUT_ALLOC and PUT_FREE, of the address in the
		      * second cell */
};

/*
 * Append a run of cells, published by one store to head, so that nothing comes
 * between them: one record with its data, or with prefixes in front
 * (record_ext.h). The clock goes into cells[stamp], and into the first cell,
 * which must be one with a word, when they are committed; the rest is written
 * as it is. A run of one cell may be any record.
 *
 * @sp is the stack pointer of a hook in the place of the call, @function an
 * address in what the thread runs, or 0. At most record_run_max() cells in
 * all: more are not recorded, but counted as if there were no room. False when
 * it was not recorded: then it is counted, as dropped, in a pause (spans and
 * allocations: paused_spans, paused_allocs; the others are not), or for a
 * thread without a slot; unless recording is off. Attaches the thread if need
 * be. Any context in which a hook may run; errno is kept.
 */
bool put_run_of(const struct put_run *run, enum put_class class, uintptr_t sp,
		uintptr_t function);

/* The same, all @count cells in one place, of no function. */
bool put_run(struct record *cells, uint32_t count, uint32_t stamp,
	     enum put_class class, uintptr_t sp);

#endif
