/* SPDX-License-Identifier: Apache-2.0
 *
 * ring_get - consumer half of a ring: one writer, one reader, in memory
 * shared with a process we do not trust. Ordering contract: docs/RING.md.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_RING_GET_H
#define PERFREC_COLLECTOR_REPLAY_RING_GET_H

#include <stddef.h>
#include <stdint.h>

#include "shared/ring_shm.h"

struct ring_get {
	struct slot_shm *slot;
	const struct record *cells;
	uint64_t tail; /* cells read so far: the truth, slot->tail is a copy */
	uint64_t head; /* as of the last ring_get_look() */
	uint64_t cell_count; /* a power of two */
	uint32_t room; /* the last value of slot->room */
};

/* The reader of the ring of @slot, from its first cell on. */
void ring_get_init(struct ring_get *ring, struct slot_shm *slot,
		   const struct record *cells, uint32_t cell_count);

/*
 * See how far the writer is. Returns how many cells are unread, or -EBADMSG
 * when head ran backward or past the ring: nothing in it can be believed.
 * The ring's worker only; never blocks.
 */
int64_t ring_get_look(struct ring_get *ring);

/*
 * The unread cells that lie in one piece, at most @most of them: *@cells
 * points into shared memory, so load each word once. Returns how many, 0
 * when all that ring_get_look() saw is read.
 */
size_t ring_get_run(const struct ring_get *ring, size_t most,
		    const struct record **cells);

/* The first @count cells of the last run are read: the writer may have them
 * again. */
void ring_get_consume(struct ring_get *ring, size_t count);

/* Tell the writer, and wake it if it waits for room. */
void ring_get_publish(struct ring_get *ring);

#endif
