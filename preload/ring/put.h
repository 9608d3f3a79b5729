/* SPDX-License-Identifier: Apache-2.0
 *
 * put - appends records to this thread's ring. docs/RING.md has the rules.
 *
 * The fast path of spans is in the hooks (hook_x86_64.S). The fast path of all
 * other records is put_cell() and put_cells() in ring_x86_64.S. put.c is the
 * slow path: at a chunk boundary, on a full ring, in a pause, and without
 * restartable sequences. Its parts are put_room.c (room for the next record),
 * wait.c (block mode) and put_copy.c (runs of cells).
 *
 * Unless stated otherwise, a function here is for attached threads (threads
 * with a slot), in any context, and a signal handler may call it while it runs.
 */
#ifndef PERFREC_PRELOAD_RING_PUT_H
#define PERFREC_PRELOAD_RING_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/record.h"

/* --- runs ---------------------------------------------------------------- */

/* A run: cells that are published together. */
struct put_run {
	struct record *cells; /* the first @count cells */
	uint64_t count;
	const void *behind; /* the cells that follow; aligned to 8 */
	uint64_t behind_cells;
	uint64_t stamp; /* index of the cell that gets the clock */
	/* NULL if all of @behind is readable. Otherwise the kernel copies the
	 * readable part; this function gets the run's cells in the ring and the
	 * number of cells of @behind that follow, and corrects the lengths. */
	void (*cut)(struct record *cells, uint64_t behind_cells);
};

/* Returns the number of cells of @run; NULL stands for a single cell. */
static inline uint64_t run_cells(const struct put_run *run)
{
	return run ? run->count + run->behind_cells : 1;
}

/* --- fast path ----------------------------------------------------------- */

/*
 * Appends one cell: @word and the clock. @limit is T_LIMIT_BEGIN or, for ends,
 * T_LIMIT_END. Returns false, and appends nothing, if the fast path does not
 * apply; the caller then uses put_run(). Callable by any thread in any context.
 */
bool put_cell(uint64_t word, uint64_t limit);

/* As put_cell() for a run, whose cut must be NULL. */
bool put_cells(const struct put_run *run, uint64_t limit);
/* As put_cells(), but records during a pause that the program requested: for
 * the end of a block or slice. Not with g_shim.general. */
bool put_cells_paused(const struct put_run *run, uint64_t limit);

/* --- slow path ----------------------------------------------------------- */

/* The result of a put. */
enum put_end {
	PUT_RECORDED,
	PUT_COUNTED, /* not recorded: no room, or a pause */
	PUT_CHILD, /* a signal handler forked, and this is the child, without a
		    * slot; nothing was recorded or counted */
};

/*
 * Appends a BEGIN or END: @word, or @run if it is not NULL, whose stamped cell
 * is @word. Makes room by --on-full. Counts a record that finds no room. @sp is
 * the stack pointer of the span's hook.
 */
enum put_end put_span(uint64_t word, const struct put_run *run, uintptr_t sp);

/* Returns true if put_span() would not record @word because of a pause, or of a
 * ring that was full before, and counts it as put_span() does. Returns false
 * otherwise: the caller then makes its run, and calls put_span(). */
bool put_withhold(uint64_t word, uintptr_t sp);

/* As put_span() for other records. Waits for room only if @wait. The caller
 * counts a record that finds no room. */
enum put_end put_other(uint64_t word, const struct put_run *run, bool wait);

/* put_span() for a record of one cell. Returns false for PUT_CHILD. */
bool put_record(enum record_kind kind, uint64_t payload, uintptr_t sp);

/*
 * put_record() for the BEGIN of a span that --depth has left out so far. The
 * record uses the room for ends, and is not counted if it finds none. @span_sp
 * is the stack pointer of the span's hook, @sp the current one.
 */
bool put_begin_late(uint64_t function, uintptr_t span_sp, uintptr_t sp);

/* Appends a record with the time of @clock if it fits within the current
 * limits. Returns false if it does not. */
bool put_record_now(enum record_kind kind, uint64_t payload, uintptr_t sp,
		    uint64_t (*clock)(void));

/* Records the current generation of the load map for the records that follow.
 * Returns false if there is no room. */
bool put_map(void);

/* Drops withheld spans deeper than stack pointer @sp, which a jump has left. */
void put_jumped(uintptr_t sp);

/* Records the losses so far (LOSS) if there is room, before the thread ends. */
void put_detach(void);

/* Returns true if the collector or the program has requested a pause. Callable
 * by any thread of a recorded process. */
bool put_is_paused(void);

/* Returns true if every event must take the slow path. */
bool put_must_see_all(void);

/* --- room ---------------------------------------------------------------- */

/* The limit that applies to a record. */
enum put_limit {
	LIMIT_BEGIN, /* leaves the last quarter of a ring to ends */
	LIMIT_END,
};

/* Called when the limit is reached: at a chunk boundary, or on a full ring.
 * Rings the doorbell. Waits for room if @wait is set and --on-full is block.
 * Returns true if @cells fit now, false if they do not or the collector has
 * ended. */
bool put_make_room(enum put_limit which, uint64_t cells, bool wait);

/* Sets the limits of the fast path by the current tail. */
void put_renew_limits(void);

/* Closes the fast path: every event must take the slow one. */
void put_limits_close(void);

/* Wakes the collector if it sleeps. */
void doorbell_ring(void);

#endif
