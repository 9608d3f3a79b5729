/* SPDX-License-Identifier: Apache-2.0
 *
 * wait - waits for room in the thread's ring, in block mode. A thread waits on
 * two futexes, room and the collector's life, for 50 ms at a time. So a killed
 * collector frees all waiters at once, and a stopped one after LOOKS_STOPPED
 * waits.
 *
 * If a live collector reads no cell of this process for g_shim.block_ns, all
 * threads stop waiting (g_shim.block_over). They wait again after a thread that
 * has found room sees that the collector has read cells since.
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
/* Consecutive looks, one per wait, that must find the collector stopped. */
#define LOOKS_STOPPED 3
/* Time between looks at the read counts of all slots. */
#define READS_LOOK_NS 500000000ULL
#define NS_PER_MS 1000000

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/*
 * Returns true if the collector is stopped (SIGSTOP, a debugger). One of its
 * threads only waits on a futex. To stop that thread, the kernel removes it
 * from the futex's queue; lack of CPU time does not. So this function moves at
 * most one waiter from the queue to the same queue, and sees whether there was
 * one.
 */
static bool collector_stopped(void)
{
	const uint32_t *parked = &g_shim.liveness->parked;

	return sys(SYS_futex, parked, FUTEX_OP_REQUEUE, 0, 1, parked) == 0;
}

/* Returns the number of cells of this process that were ever read. Skips
 * impossible counts, so a hostile collector cannot make the sum grow for
 * ever. */
static uint64_t cells_read(void)
{
	uint64_t cells = 0;

	for (uint32_t i = 0; i < g_shim.slot_count; i++) {
		const struct slot_shm *slot = &g_shim.slots[i];
		uint64_t read;

		/* relaxed, all: the next pass sees stores that this one misses
		 */
		if (!atom_load_rlx(&slot->claims))
			break; /* no later slot was ever claimed */
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

/* The collector's progress, as a waiting thread has seen it. */
struct reads {
	uint64_t cells; /* the largest count so far */
	uint64_t since; /* ns: when it was first seen */
	uint64_t next_look;
};

/* Returns true if this wait has seen the collector read a cell of this process
 * within block_ns. */
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

/* Prints a message for the user, once per program. */
static void say_over(void)
{
	uint64_t ms = g_shim.block_ns / NS_PER_MS;
	bool seconds = ms % 1000 == 0;
	char number[SAY_DECIMAL];
	const char *parts[] = {
		"the collector has read nothing for ",
		say_decimal((uint32_t)(seconds ? ms / 1000 : ms), number),
		seconds ? " s" : " ms",
		": full rings drop records until it reads again"
	};

	/* order: sc, BLOCKOVER: one thread says it */
	if (!g_shim.quiet && atom_cas_sc(&g_shim.block_said, 0, 1))
		say(parts, ARRAY_SIZE(parts));
}

/* Makes all threads of this process stop waiting. */
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

	/* The kernel lacks the call, or a container forbids it: wait on one
	 * word. */
	if (err < 0 && err != -EAGAIN && err != -EINTR && err != -ETIMEDOUT)
		sys(SYS_futex, &t_thread.slot->room, FUTEX_OP_WAIT, room,
		    &timeout);
}

/* Half a ring must be free, so that the two sides do not alternate cell by
 * cell. */
static bool has_room(void)
{
	/* order: sc, ROOM: after waiting = 1, or we could sleep through it */
	uint64_t tail = atom_load_sc(&t_thread.slot->tail);

	/* relaxed: this thread's own head */
	return atom_load_rlx(&t_thread.slot->head) - tail <=
	       g_shim.ring_cells / 2;
}

/* Returns true when there is room, false if the collector has ended, is stopped
 * or does not read. */
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
			/* The kernel wakes only one waiter. */
			sys(SYS_futex, &g_shim.liveness->owner, FUTEX_OP_WAKE,
			    INT_MAX);
		if (collector_left())
			return false;
		/* One look is not enough, because that thread may be about to
		 * wait. A signal that ends the sleep early must not cause
		 * another look. */
		now = clock_ns(CLOCK_MONOTONIC);
		if (now >= next_look) {
			/* Short waits skip the look at all slots. */
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
