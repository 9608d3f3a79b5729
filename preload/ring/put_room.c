/* SPDX-License-Identifier: Apache-2.0
 *
 * put_room - room in the ring for the next record: limits of the fast path,
 * chunk boundaries, the reserve for ENDs; and the doorbell of the reader, which
 * makes room.
 */
#include "preload/core/gate.h"
#include "preload/core/liveness.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/ring/put_inner.h"
#include "shared/atomic.h"
#include "shared/futex.h"

/* Times per lap that a writer reads the tail and rings the doorbell. */
#define CHUNKS 4

/* A wait frees more of a ring than any record takes. A signal handler may take
 * that room first, but not this many times. */
#define WAITS_MAX 1000

void doorbell_ring(void)
{
	struct doorbell_shm *bell =
		&g_shim.page->doorbell[t_thread.index % DOORBELLS];

	/* order: sc, ASLEEP: our head first, then a look at the sleeper */
	atom_add_sc(&t_thread.slot->head, 0);
	/* order: sc, ASLEEP: it sees our head, or we see it asleep */
	if (!atom_load_sc(&bell->asleep) || g_shim.no_syscalls)
		return;
	/* relaxed: the futex call orders it for the sleeper */
	atom_add_rlx(&bell->rings, 1);
	sys(SYS_futex, &bell->rings, FUTEX_OP_WAKE, 1);
}

/* Returns the cells between the collector's tail and @head, clamped to the size
 * of the ring because the tail may have any value. */
static uint64_t cells_used(uint64_t head)
{
	/* order: acq, TAIL: cells below the tail are ours to overwrite */
	uint64_t tail = atom_load_acq(&t_thread.slot->tail);

	return MIN(head - tail, (uint64_t)g_shim.ring_cells);
}

/* On the first lap, maps the next cells in advance: a page fault for each 4 KiB
 * would cost more than the records in these. Returns the head up to which cells
 * are mapped.
 */
static uint64_t touch_ahead(uint64_t head)
{
	uint64_t ahead = ALIGN_UP(head + 1, TOUCH_CELLS);
	struct record *chunk =
		&t_thread.cells[(ahead - TOUCH_CELLS) & t_thread.mask];

	if (g_shim.no_syscalls || t_thread.touched >= g_shim.ring_cells)
		return UINT64_MAX;
	if (head < t_thread.touched_head)
		return t_thread.touched_head;
	t_thread.touched += ahead - head;
	t_thread.touched_head = ahead;
	/* Old kernels do not know MADV_POPULATE_WRITE: then pages fault. */
	sys(SYS_madvise, chunk, TOUCH_CELLS * sizeof(*chunk),
	    23 /* MADV_POPULATE_WRITE */);
	return ahead;
}

uint64_t put_limit(enum put_limit which)
{
	return which == LIMIT_BEGIN ? t_thread.limit_begin : t_thread.limit_end;
}

static uint64_t limit_at(enum put_limit which, uint64_t head)
{
	uint64_t cells = g_shim.ring_cells;
	uint64_t free_cells = cells - cells_used(head);
	uint64_t reserve = which == LIMIT_BEGIN ? cells / 4 : 0;

	return free_cells > reserve ? head + free_cells - reserve : head;
}

uint64_t put_limit_now(enum put_limit which)
{
	/* relaxed: this thread's own */
	return limit_at(which, atom_load_rlx(&t_thread.slot->head));
}

uint64_t put_cells_at(uint64_t head, uint64_t cells)
{
	uint64_t behind = t_thread.mask + 1 - (head & t_thread.mask);

	return cells <= behind ? cells : behind + cells;
}

bool put_limits_renew(enum put_limit which, uint64_t cells)
{
	uint64_t chunk = g_shim.ring_cells / CHUNKS;
	/* relaxed: this thread's own */
	uint64_t head = atom_load_rlx(&t_thread.slot->head);
	uint64_t boundary = MIN((head / chunk + 1) * chunk, touch_ahead(head));
	uint64_t begin = limit_at(LIMIT_BEGIN, head);
	uint64_t end = limit_at(LIMIT_END, head);

	t_thread.limit_end = MIN(boundary, end);
	t_thread.limit_begin = MIN(boundary, begin);
	return head + put_cells_at(head, cells) <=
	       (which == LIMIT_BEGIN ? begin : end);
}

void put_limits_close(void)
{
	t_thread.limit_begin = 0;
	t_thread.limit_end = 0;
}

bool put_half_is_free(void)
{
	/* relaxed: this thread's own */
	uint64_t head = atom_load_rlx(&t_thread.slot->head);

	return cells_used(head) <= g_shim.ring_cells / 2;
}

/* Waits until @cells fit. Returns false if wait_for_room() does. */
static bool wait_and_renew(enum put_limit which, uint64_t cells)
{
	for (int waits = 0; waits < WAITS_MAX && wait_for_room(); waits++)
		if (put_limits_renew(which, cells))
			return true;
	return false;
}

bool put_make_room(enum put_limit which, uint64_t cells, bool wait)
{
	bool room = put_limits_renew(which, cells);

	gate_take_late_filter();
	if (room)
		wait_look_again();
	doorbell_ring();
	if (collector_left()) {
		gate_switch_off();
		return false;
	}
	return room || (wait && g_shim.block && wait_and_renew(which, cells));
}
