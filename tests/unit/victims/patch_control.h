/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_control - what test_patch.c shares with the program that it patches.
 */
#ifndef PERFREC_TESTS_UNIT_VICTIMS_PATCH_CONTROL_H
#define PERFREC_TESTS_UNIT_VICTIMS_PATCH_CONTROL_H

#include <stdint.h>

#include "shared/function_shm.h"

/* Descriptors that the victim inherits. */
#define CONTROL_FD 30
#define THUNKS_FD 31

#define VICTIM_THREADS 3
#define VICTIM_NUMBERS 512u
#define WITNESS_ENTRIES 1024u /* a power of two */

/* Calls of hooks, which come straight from functions. */
struct witness {
	uint64_t function;
	uint64_t enters, exits;
};

struct control {
	struct thunk_shim shim;
	/* Victim writes. */
	uint32_t ready; /* threads that have begun */
	uint32_t wrong; /* results */
	uint64_t rounds; /* done */
	uint64_t thunk_enters, thunk_exits; /* of entry builds */
	int32_t child; /* a process that was forked */
	uint64_t scratch; /* address of a page to be patched, or 0 */
	/* Test writes. */
	uint32_t go; /* begin */
	uint32_t stop; /* end */
	uint32_t fork; /* fork a child, which works on */
	uint32_t exec; /* become another program */
	uint64_t limit; /* of rounds of each thread; 0: none */
	struct witness witness[WITNESS_ENTRIES];
	struct count_cell cells[VICTIM_THREADS][VICTIM_NUMBERS];
};

#endif
