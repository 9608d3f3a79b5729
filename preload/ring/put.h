/* SPDX-License-Identifier: Apache-2.0
 *
 * put - append one record to this thread's ring, the careful way.
 */
#ifndef PERFREC_PRELOAD_RING_PUT_H
#define PERFREC_PRELOAD_RING_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/record.h"

/*
 * Append a BEGIN or END, making room for it as --on-full says; counts it when
 * it cannot. False, with nothing done, when this turns out to be a forked
 * child that has no slot yet. Attached threads only; any context.
 */
bool put_record(enum record_kind kind, uint64_t payload, uintptr_t sp);

/*
 * The same for the BEGIN of a span that --depth has left out so far, into the
 * room for ends; not counted when it finds none. @span_sp is where its hook
 * was, @sp the stack pointer now.
 */
bool put_begin_late(uint64_t function, uintptr_t span_sp, uintptr_t sp);

/* Control goes back to where the stack pointer is @sp: begins that were
 * withheld deeper on the stack will have no end. Attached threads; any
 * context. */
void put_jumped(uintptr_t sp);

/* Append a record stamped with @clock if there is room at once, within the
 * limits as they are. Attached threads only; any context. */
bool put_record_now(enum record_kind kind, uint64_t payload, uintptr_t sp,
		    uint64_t (*clock)(void));

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

/* Cells that are appended in one piece. */
struct put_run {
	struct record *cells; /* the first @count */
	uint64_t count;
	const void *behind; /* then these, from elsewhere; aligned to 8 */
	uint64_t behind_cells;
	uint64_t stamp; /* which of @cells gets the clock */
	/* Not NULL: @behind may not be there to be read. The kernel copies what
	 * is; then this puts into @cells, which lie in the ring, how many cells
	 * that were. */
	void (*cut)(struct record *cells, uint64_t behind_cells);
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

/*
 * The fast path of a record of one cell: @word, with the clock. @limit is
 * T_LIMIT_BEGIN or, of ends, T_LIMIT_END. False, with nothing done, when that
 * takes put_run(). Any context.
 */
bool put_cell(uint64_t word, uint64_t limit);

/* Say in which generation of the load map the next record is. False when there
 * is no room for that at once. Attached threads only; any context. */
bool put_map(void);

/* Set the limits of the fast path by the tail as it is now. */
void put_renew_limits(void);
/* The thread goes: write what it still owes (LOSS), if there is room. */
void put_detach(void);

/* Wake the collector if it sleeps. Attached threads only; any context. */
void doorbell_ring(void);

#endif
