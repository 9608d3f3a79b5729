/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/ring_get.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/futex.h"

/* Bytes of memory to free at once, or a page if that is larger. */
#define GIVE_BYTES 16384
#define GIVE_PARTS 16
/* A writer is slow if a cell takes it this long, 50 ms for 4 KiB: freeing costs
 * the writer a page fault, and it has this time for each. */
#define SLOW_CELL_NS 195313
/* The program can delay the kernel when that frees memory of its file. After a
 * delay of LONG_NS, nothing is freed for LONG_PAUSE times as long. */
#define LONG_NS 5000000
#define LONG_PAUSE 100

void ring_get_init(struct ring_get *ring, struct slot_shm *slot,
		   struct record *cells, uint32_t cell_count, uint64_t *wait_ns)
{
	uint64_t give =
		MAX((uint64_t)GIVE_BYTES, (uint64_t)sysconf(_SC_PAGESIZE)) /
		sizeof(*cells);

	*ring = (struct ring_get){
		.slot = slot,
		.cells = cells,
		.cell_count = cell_count,
		.wait_ns = wait_ns,
		.give_cells =
			cell_count / give >= GIVE_PARTS ? (uint32_t)give : 0,
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

static bool must_wait(const struct ring_get *ring, uint64_t now_ns)
{
	/* relaxed: a hint */
	return ring->wait_ns && now_ns < atom_load_rlx(ring->wait_ns);
}

/* Frees the memory of the cells from @from to @upto. Returns false if the
 * kernel refuses. */
static bool give_back(struct ring_get *ring, uint64_t from, uint64_t upto)
{
	uint64_t begin_ns = clock_boottime_ns(), index, count;
	uint64_t all = upto - from;
	int err = 0;
	uint64_t end_ns;
	uint64_t took_ns;

	for (; from < upto && !err; from += count) {
		index = from & (ring->cell_count - 1);
		count = MIN(upto - from, ring->cell_count - index);
		err = madvise(ring->cells + index, count * sizeof(*ring->cells),
			      MADV_REMOVE);
	}
	end_ns = clock_boottime_ns();
	took_ns = end_ns - begin_ns;
	if (ring->wait_ns && took_ns >= LONG_NS)
		/* relaxed: a hint */
		atom_store_rlx(ring->wait_ns, end_ns + took_ns * LONG_PAUSE);
	ring->given += err ? 0 : all;
	return !err;
}

/* Returns the limit of cells that may be overwritten at @now_ns. Frees the
 * memory of some first. */
static uint64_t find_free(struct ring_get *ring, uint64_t now_ns)
{
	uint64_t give = ring->give_cells, read = ring->tail - ring->freed;
	uint64_t upto = ring->tail & ~(give - 1);

	/* The program may have written too far. */
	if (!give || read > ring->cell_count)
		return ring->tail;
	if (read < give)
		return ring->freed;
	/* The writer is slow if it took long for the cells that were read since
	 * freed moved. */
	if (!ring->freed_ns || now_ns <= ring->freed_ns ||
	    (now_ns - ring->freed_ns) / SLOW_CELL_NS <
		    ring->tail - ring->freed_tail)
		return ring->tail;
	if (must_wait(ring, now_ns))
		return read < ring->cell_count / GIVE_PARTS ? ring->freed
							    : ring->tail;
	if (give_back(ring, ALIGN_UP(ring->freed, give), upto))
		return upto;
	ring->give_cells = 0; /* it never will work */
	return ring->tail;
}

void ring_get_publish(struct ring_get *ring, uint64_t now_ns)
{
	uint64_t freed = find_free(ring, now_ns);

	if (freed != ring->freed || !ring->freed_ns) {
		ring->freed_ns = now_ns;
		ring->freed_tail = ring->tail;
	}
	ring->freed = freed;
	/* order: rel, READ: a program that sees it finds its records in the
	 * trace */
	atom_store_rel(&ring->slot->read, ring->tail);
	/* order: sc, TAIL: our reads of the cells and the freeing of their
	 * memory are done; ROOM: then a look at waiters */
	atom_store_sc(&ring->slot->tail, freed);
	/* order: sc, ROOM: a writer that goes to wait now sees it changed */
	atom_store_sc(&ring->slot->room, ++ring->room);
	/* order: sc, ROOM: it sees the new tail, or we see it waiting */
	if (atom_load_sc(&ring->slot->waiting))
		syscall(SYS_futex, &ring->slot->room, FUTEX_OP_WAKE, INT_MAX,
			NULL, NULL, 0);
}
