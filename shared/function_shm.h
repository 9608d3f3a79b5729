/* SPDX-License-Identifier: Apache-2.0
 *
 * function_shm - states of functions: what the thunks, the shim and the
 * collector share (docs/OVERHEAD.md).
 *
 * The collector numbers the functions of a program that it wants to change: 1,
 * 2 and so on, the *function number*. Numbers belong to the arena: a forked
 * child has those of its parent. Each number has two thunks: the function calls
 * one at its entry and one at its exit. Its path says how a call is handled.
 *
 * Thunks lie in the *thunk area*: a memfd that the program makes, maps to read
 * and to execute, and passes with the hello. The collector writes the thunks.
 * The program maps the area once near each group of modules, since a call
 * reaches 2 GiB. So nothing in the area depends on where it is mapped, except
 * the pointers for calls through memory.
 *
 *   offset 0          struct thunk_page     addresses in the shim, for thunks
 *   THUNK_MODES       struct thunk_mode[FUNCTIONS_MAX]
 *   THUNK_POINTERS    uint64_t[THUNK_MAPS][FUNCTIONS_MAX][2]: the addresses of
 *                     the two thunks of a function in that mapping
 *   THUNK_CODE        THUNK_BYTES for each function: at 0 the thunk of entries,
 *                     at THUNK_EXIT that of exits; for entry builds two more
 *
 * Counts lie in the arena, behind the ring of each slot: a struct count_cell
 * for each function number. So each thread counts for itself, and the counts
 * are there when the program was killed.
 */
#ifndef PERFREC_SHARED_FUNCTION_SHM_H
#define PERFREC_SHARED_FUNCTION_SHM_H

#include <stdint.h>

/* Numbers are 1 to FUNCTIONS_MAX - 1, and below function_numbers() of the
 * arena, as a small ring has few. 0 is no function. */
#define FUNCTIONS_MAX 32768u

/*
 * The owning thread writes; the collector writes only to clear cells of which
 * nobody makes use: of a slot without owner, or of a function that is off.
 */
struct count_cell {
	uint64_t calls; /* ever entered through the thunk, since the claim */
	/* A bit for each open call whose entry took another path than
	 * THUNK_COUNT, the innermost lowest. 1: its entry was recorded, so its
	 * exit must be. An entry shifts left, an exit shifts right
	 * (arithmetically: beyond 64 calls the oldest bit repeats). A word of 0
	 * need not be shifted. */
	uint64_t recorded;
};

_Static_assert(sizeof(struct count_cell) == 16, "the thunks rely on it");

/* How many function numbers an arena has whose rings have @ring_cells cells. */
static inline uint32_t function_numbers(uint32_t ring_cells)
{
	uint32_t numbers = ring_cells / 8;

	return numbers < FUNCTIONS_MAX ? numbers : FUNCTIONS_MAX;
}

/*
 * How the thunk of entries handles a call. A byte of its code chooses
 * THUNK_COUNT: it is `ret`. On other paths it starts a short jump to the rest
 * of the thunk, which reads the mode.
 */
enum thunk_path {
	/* Counts it. The function's exits are off, or find no call open: the
	 * path is chosen while count_cell.recorded is 0. */
	THUNK_COUNT,
	/* Counts it, and notes that its entry was not recorded. */
	THUNK_DRAIN,
	/* Counts and records it. */
	THUNK_RECORD,
};

/* The mode of a function: the collector writes it, thunks and hooks read it. */
struct thunk_mode {
	uint32_t path; /* enum thunk_path */
	uint32_t entry_build; /* 1: the function has no hooks' arguments */
	uint64_t function; /* its address */
};

_Static_assert(sizeof(struct thunk_mode) == 16, "layout");

/* Where thunks jump to (collector copies it from page_shm, once). The first
 * three are 0 if another library's hooks must hear of all calls: then only
 * functions of entry builds may have thunks. */
struct thunk_page {
	uint64_t enter; /* __cyg_profile_func_enter */
	uint64_t exit;
	/* rdi, rsi as in a hook, r11 the function number: the thread has no
	 * counts of this process yet. */
	uint64_t enter_general;
	/* For entry builds: all registers but r11 are live, the flags are not.
	 * r11 is the address of the function; of *_general its number. At (rsp)
	 * is where they return to, at rsp + 8 the function's return address. */
	uint64_t entry_enter, entry_exit, entry_enter_general;
	/* As entry_exit, but r11 is live, too: it was pushed, so all else lies
	 * 8 bytes higher. Ends with "pop %r11; ret". */
	uint64_t entry_exit_pushed;
	uint64_t pad[9];
};

_Static_assert(sizeof(struct thunk_page) == 128, "layout");

/* What the memfd is called: the collector knows the area by it in a map. */
#define THUNK_AREA_NAME "perfrec-thunks"

#define THUNK_MAPS 8u
#define THUNK_BYTES 448u
#define THUNK_EXIT 256u
/* For entry builds: an exit that is jumped to in place of the function's ret,
 * and one that is called where r11 is live (before "jmp *%r11"). */
#define THUNK_EXIT_JUMP 192u
#define THUNK_EXIT_R11 336u
#define THUNK_MODES ((uint64_t)65536)
#define THUNK_POINTERS (THUNK_MODES + FUNCTIONS_MAX * (uint64_t)16)
#define THUNK_CODE (THUNK_POINTERS + THUNK_MAPS * FUNCTIONS_MAX * (uint64_t)16)
#define THUNK_AREA_BYTES (THUNK_CODE + FUNCTIONS_MAX * (uint64_t)THUNK_BYTES)

_Static_assert(THUNK_CODE % 65536 == 0, "starts on a page of any size");

/*
 * What the thunks and the collector must know of the shim, in page_shm. The
 * program writes it before hello; all 0 where there are no thunks. The
 * collector believes it: a program that lies harms itself.
 */
struct thunk_shim {
	uint64_t map[THUNK_MAPS]; /* where the area is mapped; 0: nowhere. The
				   * program adds mappings when it loads
				   * modules */
	int64_t epoch; /* offsets from the thread pointer (fs): of the lower
			* half of a thread's epoch, uint32_t */
	int64_t counts; /* and of its pointer to its count cells */
	uint64_t count_epoch; /* address of a uint32_t: the epoch of threads
			       * that have counts of this process; wiped to 0 in
			       * a forked child, and when recording ends */
	struct thunk_page page;
};

#endif
