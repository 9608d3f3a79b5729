/* SPDX-License-Identifier: Apache-2.0
 *
 * put_inner - functions shared by the parts of module put (put.h). For attached
 * threads, in any context.
 */
#ifndef PERFREC_PRELOAD_RING_PUT_INNER_H
#define PERFREC_PRELOAD_RING_PUT_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/ring/put.h"

/* --- put.c --------------------------------------------------------------- */

/* Returns true if this process claimed the slot. A signal handler that
 * interrupts a put may fork, and the child returns into the middle of the
 * put. */
bool put_same_process(void);

/* --- put_copy.c ---------------------------------------------------------- */

/* Appends @run with the time of g_shim.clock if there is room. Returns false if
 * there is none. */
bool put_run_now(const struct put_run *run, enum put_limit which);

/* --- put_room.c ---------------------------------------------------------- */

/* Returns the largest head that a record may lead to, at most the next chunk
 * boundary; 0 while every event must take the slow path. */
uint64_t put_limit(enum put_limit which);

/* As put_limit() by the current tail, beyond chunk boundaries. */
uint64_t put_limit_now(enum put_limit which);

/* Returns the number of cells that a run of @cells takes at @head: with an
 * EXT_PAD in front if the run does not fit before the end of the ring. */
uint64_t put_cells_at(uint64_t head, uint64_t cells);

/* Renews the limits of the fast path. Returns true if @cells fit now. */
bool put_limits_renew(enum put_limit which, uint64_t cells);

bool put_half_is_free(void);

/* --- wait.c -------------------------------------------------------------- */

/*
 * Waits until half of the ring is free, and records the wait. Returns false if
 * waiting is useless: the collector has ended or is stopped, it has read no
 * cell of this process for --block-timeout, or system calls are forbidden.
 */
bool wait_for_room(void);
/* Called by a thread that has found room. Allows waits again if --block-timeout
 * had ended them and the collector has read cells since. */
void wait_look_again(void);

#endif
