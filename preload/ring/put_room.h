/* SPDX-License-Identifier: Apache-2.0
 *
 * put_room - where in the ring the next record may go: limits of the fast
 * path, chunk boundaries, the reserve for ends. For put*.c and wait.c.
 * Attached threads only; any context.
 */
#ifndef PERFREC_PRELOAD_RING_PUT_ROOM_H
#define PERFREC_PRELOAD_RING_PUT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Which limit holds for a record. */
enum put_limit {
	LIMIT_BEGIN, /* leaves the last quarter of a ring to ends */
	LIMIT_END,
};

/* The head that a record may not take the ring beyond, up to the next chunk
 * boundary; 0 while every event is to take the slow path. */
uint64_t put_limit(enum put_limit which);
/* The same by the tail as it is now, whatever lies between. */
uint64_t put_limit_now(enum put_limit which);

/* Cells that @cells in one piece take at @head: with an EXT_PAD in front if
 * they do not fit in before the end of the ring. */
uint64_t put_cells_at(uint64_t head, uint64_t cells);

/* Set the limits of the fast path anew; true when @cells fit now. */
bool put_limits_renew(enum put_limit which, uint64_t cells);
/* While withholding, every event must take the slow path. */
void put_limits_close(void);

/* The limit is reached: a chunk boundary, or the ring is full. Rings the
 * doorbell; waits for room if @wait and --on-full says so. False when there is
 * none, or the collector has left. */
bool put_make_room(enum put_limit which, uint64_t cells, bool wait);

bool put_half_is_free(void);

#endif
