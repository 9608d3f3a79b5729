/* SPDX-License-Identifier: Apache-2.0
 *
 * ring_get - the reader's half of a ring. The ring has one writer and one
 * reader, and its memory is shared with an untrusted process. docs/RING.md has
 * the rules of ordering. Only the ring's worker may call these functions.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_RING_GET_H
#define PERFREC_COLLECTOR_REPLAY_RING_GET_H

#include <stddef.h>
#include <stdint.h>

#include "shared/ring_shm.h"

struct ring_get {
	struct slot_shm *slot;
	struct record *cells;
	uint64_t tail; /* cells read so far; slot->read is a copy */
	uint64_t head;
	uint64_t cell_count;
	uint64_t freed; /* cells that may be overwritten; slot->tail is a
			 * copy */
	uint64_t freed_ns; /* when freed moved last; 0: not yet */
	uint64_t freed_tail;
	uint64_t given;
	uint64_t *wait_ns; /* no memory is freed before; may be NULL */
	uint32_t give_cells; /* cells whose memory is freed at once; 0: none */
	uint32_t room;
};

/*
 * Makes @ring the reader of @slot's ring, from its first cell on. @cells are
 * its @cell_count cells, a power of two. @slot and @cells stay the caller's,
 * and must stay mapped. If @cells are a shared mapping of a memfd, publishing
 * frees memory of slow threads. Then @wait_ns is a word that the readers of all
 * rings of the file share, 0 at first, or NULL.
 */
void ring_get_init(struct ring_get *ring, struct slot_shm *slot,
		   struct record *cells, uint32_t cell_count,
		   uint64_t *wait_ns);

/* Reads the writer's head. Returns the number of unread cells. Returns -EBADMSG
 * if the head ran backward or past the ring: then the ring is garbage. Never
 * blocks. */
int64_t ring_get_look(struct ring_get *ring);

/* Sets *@cells to the next unread cells that are contiguous, at most @most.
 * They are in shared memory, so load each word only once. Returns their number;
 * 0: everything up to the last ring_get_look() is read. */
size_t ring_get_run(const struct ring_get *ring, size_t most,
		    const struct record **cells);

static inline uint64_t ring_get_left(const struct ring_get *ring)
{
	return ring->head - ring->tail;
}

/* Marks the first @count cells of the last run as read. The next
 * ring_get_publish() gives them to the writer. */
void ring_get_consume(struct ring_get *ring, size_t count);

/* Publishes at @now_ns (BOOTTIME) how far the ring is read, and wakes a writer
 * that waits for room. First frees the memory of cells from a slow writer, some
 * KiB at once. The writer may not overwrite these before, and has no need to.
 * Blocks only while the kernel frees memory. */
void ring_get_publish(struct ring_get *ring, uint64_t now_ns);

#endif
