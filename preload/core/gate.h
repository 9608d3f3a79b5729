/* SPDX-License-Identifier: Apache-2.0
 *
 * gate - the state of the process: the gate says whether it is recorded, g_shim
 * says where to. Hooks read the gate first, and can start recording, because
 * the first hook may run before the shim's constructor.
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

/* The largest page size, and no more. With an alignment above the page size
 * .bss becomes a segment without bytes in the file, and valgrind then reads
 * neither symbols nor unwind tables of the shim. */
#if defined(__x86_64__)
#define GATE_PAGE_BYTES 4096
#else
#define GATE_PAGE_BYTES 65536
#endif

/*
 * The gate's word is GATE_UNBEGUN until recording starts, and 0 in a forked
 * child, because the page is MADV_WIPEONFORK. Otherwise it is GATE_OFF or this
 * process's epoch, with flags (thread_asm.h). Every field of the page must be 0
 * in a child.
 *
 * The initial word is not 0: until thread-local storage is set up, every
 * thread's epoch reads as 0, and hooks in the program's IFUNC resolvers would
 * match a word of 0 and take the fast path.
 */
struct gate {
	uint64_t word;
	uint32_t count_epoch; /* epoch of threads with count cells; 0: none */
	uint32_t map_lock; /* map_log.c */
	uint32_t map_closing; /* map_log.c: running calls of dlclose() */
	uint32_t map_opened; /* map_log.c: dlopen() was called */
	uint32_t slot_lock; /* slot_memory.c */
	uint8_t pad[GATE_PAGE_BYTES - 28];
} __attribute__((aligned(GATE_PAGE_BYTES)));

_Static_assert(offsetof(struct gate, count_epoch) == GATE_COUNT_EPOCH, "asm");

/* Where this process records to. A forked child inherits it. */
struct shim {
	struct page_shm *page; /* the arena */
	struct slot_shm *slots;
	struct record *rings;
	const struct liveness_shm *liveness;
	uint32_t slot_count; /* without retired slots */
	uint32_t ring_cells;
	uint32_t functions; /* numbers: wire_hello.functions */
	uint64_t (*clock)(void);
	bool block; /* wait for room in a full ring */
	bool quiet; /* PERFREC_QUIET */
	uint64_t block_ns; /* longest wait while the collector reads nothing */
	uint64_t over_cells; /* cells read when block_over was set */
	uint32_t block_over; /* 1: threads no longer wait */
	uint32_t block_said; /* 1: the user has the message */
	bool tells_end; /* WIRE_ASK_END */
	bool general; /* all hooks take the general path */
	uint32_t depth; /* record spans nested up to this depth; 0: all */
	uint32_t paused; /* the program called perfrec_pause() */
	uint32_t unheld; /* 1: recording started before the filter existed */
	bool no_syscalls; /* a seccomp filter may kill the program */
	int32_t pid;
	int32_t fork_parent; /* the parent, until FORK is recorded; else 0 */
	uint32_t generation; /* of the load map: gate_generation() */
};

/* The table of excluded functions. The collector may change it at any time
 * (ring_shm.h). Unread without a filter. */
struct gate_filter {
	const uint64_t *table;
	uint64_t shift; /* 64 - log2(entries) */
	const uint16_t *numbers; /* of the functions, in the same order */
	uint32_t count; /* numbers from here on are invalid */
};

_Static_assert(offsetof(struct gate_filter, table) == FILTER_TABLE, "asm");
_Static_assert(offsetof(struct gate_filter, shift) == FILTER_SHIFT, "asm");
_Static_assert(offsetof(struct gate_filter, numbers) == FILTER_NUMBERS, "asm");
_Static_assert(offsetof(struct gate_filter, count) == FILTER_COUNT, "asm");

/* Hooks read these; hidden symbols need no load of an address. */
#pragma GCC visibility push(hidden)
extern struct gate g_gate;
extern struct gate_filter g_filter;
#pragma GCC visibility pop

extern struct shim g_shim;

/* --- state ---------------------------------------------------------------- */

static inline bool gate_is_settled(uint64_t gate)
{
	return gate >= GATE_OFF;
}

/*
 * Settles the gate: starts recording, or continues it in a forked child.
 * Returns the gate's word, or 0 if recording is impossible now: before libc
 * knows its environment, in a vfork() child (it shares its parent's memory), or
 * while another thread or the interrupted code starts the recording. Keeps
 * errno. Any context.
 */
uint64_t gate_settle(void);

/* Returns the gate's word, settled if possible, else 0. Any context. */
static inline uint64_t gate_look(void)
{
	/* relaxed: the page is private; only fork and this process change it */
	uint64_t gate = atom_load_rlx(&g_gate.word);

	return likely(gate_is_settled(gate)) ? gate : gate_settle();
}

/* Returns true if this process is recorded. Never starts recording, but
 * continues it in a forked child. Any context. */
bool gate_is_recording(void);

/* Uses the filter table if g_shim.unheld is set and it is ready. Any
 * context. */
void gate_take_late_filter(void);

/* Ends recording in this process, for good. Any context. */
void gate_switch_off(void);

/* Returns true if this thread's slot belongs to the process with gate word
 * @gate. False in a vfork() child and in a forked child without a slot. */
static inline bool thread_has_slot(uint64_t gate)
{
	return (uint32_t)t_thread.epoch == (uint32_t)(gate & -GATE_EPOCH_STEP);
}

/* Returns how many modules this process and its ancestors have unloaded: the
 * load map for addresses recorded from now on. Any context. */
static inline uint32_t gate_generation(void)
{
	/* order: acq, MAP: a thread that sees it has seen why */
	return atom_load_acq(&g_shim.generation);
}

/* --- starting ------------------------------------------------------------ */

/* Actions of start/ when the gate changes. start/ defines one object in section
 * gate_actions, because core cannot call rooms of higher rank. */
struct gate_actions {
	/* Must call gate_open() or gate_switch_off(). Runs once, with signals
	 * blocked; the caller restores errno. */
	void (*begin)(void);
	/* Returns true if recording starts before the first hook. */
	bool (*wants_recording)(void);
	/* The gate was just switched off. Runs in any context. */
	void (*off)(void);
	/* A forked child is about to open its gate. Runs in any context. */
	void (*forked)(void);
};

#define GATE_ACTIONS __attribute__((used, section("gate_actions")))

/* Uses the arena's filter table if the collector has made one. The caller has
 * seen that control is not HOLD. Only for begin(). */
void gate_take_filter(void);

/* Opens the gate; g_shim is complete. Only for begin(). */
void gate_open(void);

/* Starts recording if wants_recording(). Returns true if this call decided,
 * either way; false if it is too early or was decided before. Main thread only,
 * before other threads exist. */
bool gate_begin_if_wanted(void);

/* Makes the kernel wipe the gate's page in forked children. Returns false
 * without memory for a new page. Only for begin(). */
bool gate_wipe_on_fork(void);

/* Wipes the gate's page if the kernel has not. */
void gate_wipe(void);

#endif
