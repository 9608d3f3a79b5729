/* SPDX-License-Identifier: Apache-2.0
 *
 * ring_get - the reader's half of a ring. The ring has one writer and one
 * reader and lies in memory shared with a process that we do not trust.
 * docs/RING.md has the rules of ordering. Only the ring's worker may call
 * these.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_RING_GET_H
#define PERFREC_COLLECTOR_REPLAY_RING_GET_H

#include <stddef.h>
#include <stdint.h>

#include "shared/ring_shm.h"

struct ring_get {
	struct slot_shm *slot;
	struct record *cells;
	uint64_t tail; /* cells read so far: the truth, slot->read is a copy */
	uint64_t head; /* as of the last ring_get_look() */
	uint64_t cell_count; /* a power of two */
	uint64_t freed; /* the truth of slot->tail: cells below it may be
			 * written over */
	uint64_t freed_ns; /* when it moved last; 0: not yet ... */
	uint64_t freed_tail; /* and what tail was then */
	uint64_t given; /* cells whose memory was ever given back */
	uint64_t *wait_ns; /* no memory is given back before; may be NULL */
	uint32_t give_cells; /* their memory is given back at once; 0: none is
			      */
	uint32_t room; /* the last value of slot->room */
};

/* Makes @ring the reader of the ring of @slot, from its first cell on. @cells
 * are the @cell_count cells of the ring, a power of two. @slot and @cells stay
 * the caller's, and must stay mapped. Where @cells are a shared mapping of a
 * file in memory, the memory of slow threads is given back; @wait_ns is then a
 * word that the readers of all rings of the file share, 0 at first, or NULL. */
void ring_get_init(struct ring_get *ring, struct slot_shm *slot,
		   struct record *cells, uint32_t cell_count,
		   uint64_t *wait_ns);

/*
 * Looks how far the writer has come. Returns how many cells are unread, or
 * -EBADMSG: the head ran backward or past the ring, and nothing in the ring can
 * be believed. Never blocks.
 */
int64_t ring_get_look(struct ring_get *ring);

/*
 * The next unread cells that lie side by side, at most @most of them. *@cells
 * points into shared memory, so load each word only once. Returns how many they
 * are; 0: all that ring_get_look() saw has been read.
 */
size_t ring_get_run(const struct ring_get *ring, size_t most,
		    const struct record **cells);

/* How many cells ring_get_run() has still to return: 0 when all that the last
 * ring_get_look() saw has been read. */
static inline uint64_t ring_get_left(const struct ring_get *ring)
{
	return ring->head - ring->tail;
}

/* The first @count cells of the last run have been read, and will be given back
 * to the writer by the next ring_get_publish(). */
void ring_get_consume(struct ring_get *ring, size_t count);

/*
 * Tells the writer at @now_ns (BOOTTIME) how far the ring has been read, and
 * wakes it if it waits for room. What a slow writer has filled loses its memory
 * first, some KiB at once: until then the writer may not write over it, for
 * which it has no use, either. It blocks for no longer than it takes the kernel
 * to give the memory back.
 */
void ring_get_publish(struct ring_get *ring, uint64_t now_ns);

#endif
