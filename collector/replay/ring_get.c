/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/ring_get.h"

#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/futex.h"

void ring_get_init(struct ring_get *ring, struct slot_shm *slot,
		   const struct record *cells, uint32_t cell_count)
{
	*ring = (struct ring_get){
		.slot = slot,
		.cells = cells,
		.cell_count = cell_count,
	};
}

int64_t ring_get_look(struct ring_get *ring)
{
	/* order: acq, HEAD: every cell below it is whole. The sc of the
	 * reader's half of ASLEEP, where drain looks again before it sleeps */
	uint64_t head = atom_load_sc(&ring->slot->head);

	if (head - ring->tail > ring->cell_count)
		return -EBADMSG;
	ring->head = head;
	return (int64_t)(head - ring->tail);
}

size_t ring_get_run(const struct ring_get *ring, size_t most,
		    const struct record **cells)
{
	uint64_t index = ring->tail & (ring->cell_count - 1);
	uint64_t unread = ring->head - ring->tail;

	*cells = ring->cells + index;
	return MIN(most, MIN(unread, ring->cell_count - index));
}

void ring_get_consume(struct ring_get *ring, size_t count)
{
	ring->tail += count;
}

void ring_get_publish(struct ring_get *ring)
{
	/* order: sc, TAIL: our reads of the cells are done; ROOM: then a look
	 * at who waits */
	atom_store_sc(&ring->slot->tail, ring->tail);
	/* order: sc, ROOM: a writer that goes to wait now sees it changed */
	atom_store_sc(&ring->slot->room, ++ring->room);
	/* order: sc, ROOM: it sees the new tail, or we see it waiting */
	if (atom_load_sc(&ring->slot->waiting))
		syscall(SYS_futex, &ring->slot->room, FUTEX_OP_WAKE, INT_MAX,
			NULL, NULL, 0);
}
