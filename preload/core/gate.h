/* SPDX-License-Identifier: Apache-2.0
 *
 * gate - what the shim keeps for the whole process: whether it is recorded (the
 * gate), and where to (g_shim).
 *
 * Every hook reads the gate first. It also starts recording, by way of this
 * module: the first hook may run before the shim's constructor.
 */
#ifndef PERFREC_PRELOAD_CORE_GATE_H
#define PERFREC_PRELOAD_CORE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/core/thread.h"
#include "preload/core/thread_asm.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

/* The largest size of a page. Not more than needed: where .bss has a larger
 * alignment than a page it becomes a segment of its own without bytes in the
 * file, and valgrind then reads no symbols and no unwind tables of the shim. */
#if defined(__x86_64__)
#define GATE_PAGE_BYTES 4096
#else
#define GATE_PAGE_BYTES 65536
#endif

/*
 * The gate's word is GATE_UNBEGUN until recording starts, and zero in a forked
 * child, since the page is MADV_WIPEONFORK. Else it is GATE_OFF with flags, or
 * this process's epoch with flags (thread_asm.h). The page has nothing but what
 * a child must find zero.
 *
 * The file of the shim says GATE_UNBEGUN, not 0. Before the dynamic linker has
 * set up thread-local storage every epoch reads as 0; with a gate of 0 the fast
 * path of hooks in a program's IFUNC resolvers would record.
 */
struct gate {
	uint64_t word;
	uint32_t count_epoch; /* the epoch of threads whose count cells are of
			       * this process; 0: there are none */
	uint32_t map_lock; /* map_log.c: held by a thread of this process */
	uint32_t map_closing; /* map_log.c: calls of dlclose() that run */
	uint32_t map_opened; /* map_log.c: dlopen() was called */
	uint32_t slot_lock; /* slot_memory.c: held by such a thread */
	uint8_t pad[GATE_PAGE_BYTES - 28];
} __attribute__((aligned(GATE_PAGE_BYTES)));

_Static_assert(offsetof(struct gate, count_epoch) == GATE_COUNT_EPOCH, "asm");

/* Where this process records to. Settled when recording starts, but for a few
 * words; a forked child inherits it. */
struct shim {
	struct page_shm *page; /* the arena */
	struct slot_shm *slots;
	struct record *rings;
	const struct liveness_shm *liveness;
	uint32_t slot_count; /* without those that were retired */
	uint32_t ring_cells;
	uint64_t (*clock)(void);
	bool block; /* on a full ring: wait */
	bool quiet; /* PERFREC_QUIET */
	uint64_t block_ns; /* so long, if no cell of the process is read */
	uint64_t over_cells; /* cells of the process that were read by then */
	uint32_t block_over; /* 1: that is over, nobody waits */
	uint32_t block_said; /* 1: the user was told */
	bool tells_end; /* WIRE_ASK_END */
	bool general; /* all hooks take the general path */
	uint32_t depth; /* spans with fewer around them are recorded; 0: all */
	uint32_t paused; /* the program has called perfrec_pause() */
	uint32_t unheld; /* 1: recording began before the filter was there */
	bool no_syscalls; /* a seccomp filter may kill for them */
	int32_t pid;
	int32_t fork_parent; /* parent of a forked child that has not recorded
			      * FORK yet; else 0 */
	uint32_t generation; /* of the load map: gate_generation() */
};

/* The table of excluded functions, which the collector may change at any time
 * (ring_shm.h). Without a filter it is never looked at. */
struct gate_filter {
	const uint64_t *table;
	uint64_t shift; /* 64 - log2(entries) */
	const uint16_t *numbers; /* of the functions; as many entries */
	uint32_t count; /* numbers from here on are none */
};

_Static_assert(offsetof(struct gate_filter, table) == FILTER_TABLE, "asm");
_Static_assert(offsetof(struct gate_filter, shift) == FILTER_SHIFT, "asm");
_Static_assert(offsetof(struct gate_filter, numbers) == FILTER_NUMBERS, "asm");
_Static_assert(offsetof(struct gate_filter, count) == FILTER_COUNT, "asm");

/* The hooks read these: hidden, so that their addresses need no load. */
#pragma GCC visibility push(hidden)
extern struct gate g_gate;
extern struct gate_filter g_filter;
#pragma GCC visibility pop

extern struct shim g_shim;

/* --- what is recorded -------------------------------------------------------
 */

/* Whether @gate says what to do; if not, gate_settle() finds out. */
static inline bool gate_is_settled(uint64_t gate)
{
	return gate >= GATE_OFF;
}

/*
 * Find out what to do while the gate is not settled: start recording, or go on
 * in a forked child. Returns the gate's word. Returns 0 where nothing may be
 * recorded yet: libc does not know its environment, or another thread, or the
 * code that this handler interrupted, is starting just now; and in a vfork
 * child, which shares its parent's memory. Keeps errno. Any context.
 */
uint64_t gate_settle(void);

/* The gate's word, settled if it can be; else 0, as gate_settle(). Any context.
 */
static inline uint64_t gate_look(void)
{
	/* relaxed: the page is private; only fork and this process change it */
	uint64_t gate = atom_load_rlx(&g_gate.word);

	return likely(gate_is_settled(gate)) ? gate : gate_settle();
}

/* Whether this process is being recorded. Does not start recording, but goes on
 * in a forked child that has not recorded yet. Any context. */
bool gate_is_recording(void);

/* With g_shim.unheld: if the filter table is there by now, use it. Any context.
 */
void gate_take_late_filter(void);

/* Recording is over for this process, for good. Any context. */
void gate_switch_off(void);

/* Whether this thread's slot is of the process whose gate's word is @gate: not
 * in a vfork child, nor in a forked one that has no slot yet. */
static inline bool thread_has_slot(uint64_t gate)
{
	return (uint32_t)t_thread.epoch == (uint32_t)(gate & -GATE_EPOCH_STEP);
}

/* How many modules this process, and those it was forked from, have unloaded:
 * says what addresses mean that are recorded from here on. Any context. */
static inline uint32_t gate_generation(void)
{
	/* order: acq, MAP: a thread that sees it has seen why */
	return atom_load_acq(&g_shim.generation);
}

/* --- starting ---------------------------------------------------------------
 */

/*
 * What start/ does at the gate's turns. One object of this type is defined in
 * section gate_actions, where gate.c finds it: the core of the shim knows
 * nothing of what stands above it.
 */
struct gate_actions {
	/* Start recording, and call gate_open() or gate_switch_off(). Once,
	 * with signals blocked; errno is restored after it. */
	void (*begin)(void);
	/* Whether recording is to start before a hook asks for it. */
	bool (*wants_recording)(void);
	/* The gate has just been switched off. Any context. */
	void (*off)(void);
	/* This is a forked child, and its gate is about to be opened. Any
	 * context. */
	void (*forked)(void);
};

#define GATE_ACTIONS __attribute__((used, section("gate_actions")))

/* Use the filter table of the arena, if the collector has made one. Control has
 * been seen not to be HOLD. Only for begin(). */
void gate_take_filter(void);

/* g_shim is complete: record. Only for begin(). */
void gate_open(void);

/*
 * Start recording if this program is to be recorded, as far as can be said
 * before a hook runs. True when this call has settled it, one way or the other;
 * false when that is too early, or was done before. Main thread, before there
 * are others.
 */
bool gate_begin_if_wanted(void);

/* From now on the kernel wipes the gate's page in forked children. False: there
 * is no memory for that. Only for begin(). */
bool gate_wipe_on_fork(void);

/* Wipe the gate's page, in a forked child whose kernel has not. */
void gate_wipe(void);

#endif
