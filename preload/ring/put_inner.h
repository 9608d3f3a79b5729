/* SPDX-License-Identifier: Apache-2.0
 *
 * put_inner - what the parts of module put (put.h) have of each other. For
 * attached threads, in any context.
 */
#ifndef PERFREC_PRELOAD_RING_PUT_INNER_H
#define PERFREC_PRELOAD_RING_PUT_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/ring/put.h"

/* --- put.c ------------------------------------------------------------------
 */

/* Whether this is still the process that claimed the slot: a handler that
 * interrupts a put may fork, and its child comes back to the middle of it. */
bool put_same_process(void);

/* --- put_copy.c -------------------------------------------------------------
 */

/* Append @run if there is room at once. It gets the time of g_shim.clock. */
bool put_run_now(const struct put_run *run, enum put_limit which);

/* --- put_room.c: where in the ring the next record may go -------------------
 */

/* The head that a record may not take the ring beyond, up to the next chunk
 * boundary; 0 while every event is to take the slow way. */
uint64_t put_limit(enum put_limit which);

/* The same by the tail as it is now, whatever lies between. */
uint64_t put_limit_now(enum put_limit which);

/* How many cells a run of @cells takes at @head: with an EXT_PAD in front if it
 * does not fit in before the end of the ring. */
uint64_t put_cells_at(uint64_t head, uint64_t cells);

/* Set the limits of the fast way anew. True when @cells fit now. */
bool put_limits_renew(enum put_limit which, uint64_t cells);

bool put_half_is_free(void);

/* --- wait.c -----------------------------------------------------------------
 */

/*
 * Wait until half of the ring is free, and record the wait. False when it is
 * not worth it: the collector has left or is stopped, it has read no cell of
 * this process for --block-timeout, or system calls are forbidden.
 */
bool wait_for_room(void);
/* This thread has found room. If nobody waits any more, because the collector
 * had stopped reading, and it reads again, then wait again. */
void wait_look_again(void);

#endif
