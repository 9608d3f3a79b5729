/* SPDX-License-Identifier: Apache-2.0
 *
 * wait - block mode: a thread waits for room in its ring. It waits on two
 * futexes at once, room and the collector's life, for 50 ms at a time. So a
 * collector that is killed frees every waiter at once; one that is stopped does
 * after LOOKS_STOPPED waits.
 */
#include <errno.h>
#include <limits.h>

#include "preload/core/clock.h"
#include "preload/core/gate.h"
#include "preload/core/liveness.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/ring/put_inner.h"
#include "shared/atomic.h"
#include "shared/futex.h"

#define WAIT_NS 50000000ULL
/* So many looks in a row, one a wait, must find the collector stopped. */
#define LOOKS_STOPPED 3

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/*
 * Whether the collector has been stopped (SIGSTOP, a debugger). One of its
 * threads does nothing but wait on a futex. To stop that thread, the kernel
 * takes it off the futex's queue; being out of processor time does not. So this
 * moves at most one waiter from the queue to the same queue, and sees whether
 * there was one.
 */
static bool collector_stopped(void)
{
	const uint32_t *parked = &g_shim.liveness->parked;

	return sys(SYS_futex, parked, FUTEX_OP_REQUEUE, 0, 1, parked) == 0;
}

static void sleep_until_room(uint32_t room, uint32_t owner)
{
	struct futex_word words[2] = {
		futex_word(&t_thread.slot->room, room),
		futex_word(&g_shim.liveness->owner, owner),
	};
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + WAIT_NS;
	struct timespec deadline = { (time_t)(until / 1000000000),
				     (long)(until % 1000000000) };
	struct timespec timeout = { 0, WAIT_NS };

	long err =
		sys(SYS_futex_waitv, words, 2, 0, &deadline, CLOCK_MONOTONIC);

	/* Unknown to the kernel, or forbidden in a container: wait on one
	 * word. */
	if (err < 0 && err != -EAGAIN && err != -EINTR && err != -ETIMEDOUT)
		sys(SYS_futex, &t_thread.slot->room, FUTEX_OP_WAIT, room,
		    &timeout);
}

/* Half a ring at once, so that the two sides do not take turns cell by cell. */
static bool has_room(void)
{
	/* order: sc, ROOM: after waiting = 1, or we could sleep through it */
	uint64_t tail = atom_load_sc(&t_thread.slot->tail);

	/* relaxed: this thread's own head */
	return atom_load_rlx(&t_thread.slot->head) - tail <=
	       g_shim.ring_cells / 2;
}

/* True when there is room, false when the collector left or is stopped. */
static bool wait_until_room(void)
{
	struct slot_shm *slot = t_thread.slot;
	uint64_t next_look = 0;
	int stopped = 0;

	while (stopped < LOOKS_STOPPED) {
		/* relaxed: a change after this makes the futex return */
		uint32_t room = atom_load_rlx(&slot->room);
		uint32_t owner = atom_load_rlx(&g_shim.liveness->owner);

		/* order: sc, ROOM: the collector sees us, or we its tail */
		atom_store_sc(&slot->waiting, 1);
		if (has_room())
			return true;
		if (liveness_owner_died(owner))
			/* The kernel wakes one waiter; wake the others. */
			sys(SYS_futex, &g_shim.liveness->owner, FUTEX_OP_WAKE,
			    INT_MAX);
		if (collector_left())
			return false;
		/* Once is not enough: that thread may be just about to
		 * wait. And a signal that ends the sleep early must not
		 * make another look. */
		if (clock_ns(CLOCK_MONOTONIC) >= next_look) {
			next_look = clock_ns(CLOCK_MONOTONIC) + WAIT_NS;
			stopped = collector_stopped() ? stopped + 1 : 0;
		}
		if (stopped < LOOKS_STOPPED)
			sleep_until_room(room, owner);
	}
	/* relaxed: a counter */
	t_thread.stopped_heartbeat = atom_load_rlx(&g_shim.liveness->heartbeat);
	t_thread.stopped = true;
	return false;
}

static uint64_t wait_clock(void)
{
	return t_thread.wait_clock;
}

bool wait_for_room(void)
{
	uint64_t begin, ticks;
	bool room;

	if (g_shim.no_syscalls)
		return false;
	/* relaxed: a counter; once it moves the collector is back */
	if (t_thread.stopped &&
	    t_thread.stopped_heartbeat ==
		    atom_load_rlx(&g_shim.liveness->heartbeat))
		return false;
	t_thread.stopped = false;
	begin = g_shim.clock();
	room = wait_until_room();
	/* relaxed: a wake too many is harmless */
	atom_store_rlx(&t_thread.slot->waiting, 0);
	ticks = g_shim.clock() - begin;
	t_thread.slot->wait_ticks += ticks;
	if (room) {
		put_renew_limits(); /* new limits, for the record of the wait */
		t_thread.wait_clock = begin;
		put_record_now(RECORD_WAIT, ticks & RECORD_PAYLOAD_MAX, 0,
			       wait_clock);
	} else if (collector_left()) {
		gate_switch_off();
	}
	return room;
}
