/* SPDX-License-Identifier: Apache-2.0
 *
 * put - append records to this thread's ring. docs/RING.md has the rules.
 *
 * The slow way is put.c: at a chunk boundary, on a full ring, in a pause, and
 * wherever restartable sequences will not do. Its parts: put_room.c (where the
 * next record may go), wait.c (block mode) and put_copy.c (several cells). The
 * fast way of all that is no span is put_cell() and put_cells(), in
 * ring_x86_64.S; that of spans is the hooks' own (hook_x86_64.S).
 *
 * Unless it says so, a function here is for attached threads (those that have a
 * slot), in any context, and may interrupt itself in a signal handler.
 */
#ifndef PERFREC_PRELOAD_RING_PUT_H
#define PERFREC_PRELOAD_RING_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/record.h"

/* --- what is put ------------------------------------------------------------
 */

/* A run: cells that are appended in one piece. */
struct put_run {
	struct record *cells; /* the first @count */
	uint64_t count;
	const void *behind; /* then these, from elsewhere; aligned to 8 */
	uint64_t behind_cells;
	uint64_t stamp; /* which of @cells gets the clock */
	/* NULL if all of @behind can be read. Else the kernel copies as much as
	 * there is; then this function is given the run's cells in the ring,
	 * and how many cells of @behind follow them, and corrects their
	 * lengths. */
	void (*cut)(struct record *cells, uint64_t behind_cells);
};

/* How many cells @run has. NULL stands for a single cell. */
static inline uint64_t run_cells(const struct put_run *run)
{
	return run ? run->count + run->behind_cells : 1;
}

/* --- the fast way -----------------------------------------------------------
 */

/*
 * Append one cell: @word, with the clock. @limit is T_LIMIT_BEGIN or, for ends,
 * T_LIMIT_END. Returns false, with nothing done, where the fast way will not
 * do: then put_run() does it. Any thread, any context.
 */
bool put_cell(uint64_t word, uint64_t limit);

/* The same for a run, whose cut is NULL. */
bool put_cells(const struct put_run *run, uint64_t limit);
/* The same where only a pause of the program's forbids it: for an end that is
 * recorded in the pause. Not with g_shim.general. */
bool put_cells_paused(const struct put_run *run, uint64_t limit);

/* --- the slow way -----------------------------------------------------------
 */

/* How a put ended. */
enum put_end {
	PUT_RECORDED,
	PUT_COUNTED, /* not recorded: no room, or a pause */
	PUT_CHILD, /* a handler forked: this is the child, without a slot;
		    * nothing was done */
};

/*
 * Append a BEGIN or END: @word or, if @run is not NULL, that run, whose stamped
 * cell is @word. Makes room as --on-full says. What is not recorded has been
 * counted. @sp is the stack pointer of the span's hook.
 */
enum put_end put_span(uint64_t word, const struct put_run *run, uintptr_t sp);

/* The same for a record that is no span. It waits for room only if @wait. The
 * caller counts what is not recorded. */
enum put_end put_other(uint64_t word, const struct put_run *run, bool wait);

/* put_span() of a record of one cell. False for PUT_CHILD. */
bool put_record(enum record_kind kind, uint64_t payload, uintptr_t sp);

/*
 * put_record() for the BEGIN of a span that --depth has left out so far. It
 * goes into the room for ends, and is not counted where it finds none. @span_sp
 * is the stack pointer of the span's hook, @sp the stack pointer now.
 */
bool put_begin_late(uint64_t function, uintptr_t span_sp, uintptr_t sp);

/* Append a record with the time that @clock returns, if there is room at once,
 * within the limits as they are. False if not. */
bool put_record_now(enum record_kind kind, uint64_t payload, uintptr_t sp,
		    uint64_t (*clock)(void));

/* Say in which generation of the load map the next record is. False when there
 * is no room for that at once. */
bool put_map(void);

/* Control goes back to where the stack pointer is @sp: spans whose begins were
 * withheld deeper on the stack will have no end. */
void put_jumped(uintptr_t sp);

/* The thread ends: write what it still owes (LOSS), if there is room. */
void put_detach(void);

/* Whether the collector, or the program, has asked for a pause. Any thread of a
 * process that is recorded. */
bool put_is_paused(void);

/* Whether every event has to take the slow way. */
bool put_must_see_all(void);

/* --- room -------------------------------------------------------------------
 */

/* Which limit holds for a record. */
enum put_limit {
	LIMIT_BEGIN, /* leaves the last quarter of a ring to ends */
	LIMIT_END,
};

/* The limit is reached: a chunk boundary, or the ring is full. Rings the
 * doorbell; waits for room if @wait and --on-full says so. True when @cells fit
 * now; false when they do not, or the collector has left. */
bool put_make_room(enum put_limit which, uint64_t cells, bool wait);

/* Set the limits of the fast way by the tail as it is now. */
void put_renew_limits(void);

/* Close the fast way: every event must take the slow one. */
void put_limits_close(void);

/* Wake the collector if it sleeps. */
void doorbell_ring(void);

#endif
