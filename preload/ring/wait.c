/* SPDX-License-Identifier: Apache-2.0
 *
 * wait - block mode: a thread waits for room in its ring. It waits on two
 * futexes at once, room and the collector's life, for 50 ms at a time. So a
 * collector that is killed frees every waiter at once; one that is stopped does
 * after LOOKS_STOPPED waits.
 *
 * One that lives and does not read is waited for until g_shim.block_ns have
 * passed in which no cell of any thread of this process was read. From then on
 * no thread waits (g_shim.block_over), until one that has found room sees that
 * cells were read meanwhile.
 */
#include <errno.h>
#include <limits.h>

#include "preload/core/clock.h"
#include "preload/core/gate.h"
#include "preload/core/liveness.h"
#include "preload/core/say.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/ring/put_inner.h"
#include "shared/atomic.h"
#include "shared/futex.h"

#define WAIT_NS 50000000ULL
/* So many looks in a row, one a wait, must find the collector stopped. */
#define LOOKS_STOPPED 3
/* A look at what was read of all slots. */
#define READS_LOOK_NS 500000000ULL
#define NS_PER_MS 1000000

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

/* How many cells of this process were ever read. A count that cannot be is left
 * out: so the sum grows for as long only as there is something to read. */
static uint64_t cells_read(void)
{
	uint64_t cells = 0;

	for (uint32_t i = 0; i < g_shim.slot_count; i++) {
		const struct slot_shm *slot = &g_shim.slots[i];
		uint64_t read;

		/* relaxed, all: what is missed is seen at the next look */
		if (!atom_load_rlx(&slot->claims))
			break; /* behind this one none was ever claimed */
		if (atom_load_rlx(&slot->pid) != g_shim.pid)
			continue;
		/* relaxed: as above */
		read = atom_load_rlx(&slot->read);
		/* relaxed: as above */
		if (read <= atom_load_rlx(&slot->head))
			cells += read;
	}
	return cells;
}

/* What a thread that waits has seen of the collector's reading. */
struct reads {
	uint64_t cells; /* the most that were read */
	uint64_t since; /* when they were seen to be so many, ns */
	uint64_t next_look;
};

/* Whether the collector has read a cell of this process within block_ns, as far
 * as this wait knows. */
static bool reads_go_on(struct reads *reads, uint64_t now)
{
	uint64_t cells;

	if (now < reads->next_look)
		return true;
	cells = cells_read();
	if (cells > reads->cells || !reads->since) {
		reads->cells = cells;
		reads->since = now;
	}
	reads->next_look = now + MIN(READS_LOOK_NS, g_shim.block_ns / 8);
	return now - reads->since < g_shim.block_ns;
}

/* Tell the user, once for each program. */
static void say_over(void)
{
	uint64_t ms = g_shim.block_ns / NS_PER_MS;
	bool seconds = ms % 1000 == 0;
	char number[SAY_DECIMAL];
	const char *parts[] = {
		"the collector has read nothing for ",
		say_decimal((uint32_t)(seconds ? ms / 1000 : ms), number),
		seconds ? " s" : " ms",
		": until it reads again, what finds no room is not recorded"
	};

	/* order: sc, BLOCKOVER: one thread says it */
	if (!g_shim.quiet && atom_cas_sc(&g_shim.block_said, 0, 1))
		say(parts, ARRAY_SIZE(parts));
}

/* No thread of this process waits from now on. */
static void end_waiting(uint64_t cells)
{
	/* relaxed: BLOCKOVER orders it */
	atom_store_rlx(&g_shim.over_cells, cells);
	/* order: rel, BLOCKOVER: who sees it knows how many were read */
	atom_store_rel(&g_shim.block_over, 1);
	/* order: sc, FLAGS: as every flag; it stands for nothing else */
	atom_or_sc(&g_shim.page->flags, PAGE_BLOCK_OVER);
	say_over();
}

void wait_look_again(void)
{
	/* order: acq, BLOCKOVER: how many were read by then */
	if (likely(!atom_load_acq(&g_shim.block_over)))
		return;
	/* relaxed: BLOCKOVER orders it */
	if (cells_read() > atom_load_rlx(&g_shim.over_cells))
		/* relaxed: a hint; who does not see it drops once more */
		atom_store_rlx(&g_shim.block_over, 0);
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

/* True when there is room, false when the collector left, is stopped or does
 * not read. */
static bool wait_until_room(void)
{
	struct slot_shm *slot = t_thread.slot;
	uint64_t next_look = 0, now;
	struct reads reads = { 0 };
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
		now = clock_ns(CLOCK_MONOTONIC);
		if (now >= next_look) {
			/* The first look at all slots is not worth it where the
			 * wait is short. */
			if (next_look && !reads_go_on(&reads, now)) {
				end_waiting(reads.cells);
				return false;
			}
			next_look = now + WAIT_NS;
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

	/* relaxed: a hint; else this thread waits for itself */
	if (g_shim.no_syscalls || atom_load_rlx(&g_shim.block_over))
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
