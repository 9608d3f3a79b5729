/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_control - memory that test_patch.c shares with its victim.
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

/* Calls of hooks made without a thunk. */
struct witness {
	uint64_t function;
	uint64_t enters, exits;
};

struct control {
	struct thunk_shim shim;
	/* Written by the victim. */
	uint32_t ready;
	uint32_t wrong;
	uint64_t rounds; /* completed */
	uint64_t thunk_enters, thunk_exits; /* of entry builds */
	int32_t child; /* a forked process */
	uint64_t scratch; /* address of a page to patch, or 0 */
	/* Written by the test. */
	uint32_t go;
	uint32_t stop;
	uint32_t fork; /* fork a child that keeps working */
	uint32_t exec;
	uint64_t limit; /* of rounds per thread; 0: none */
	struct witness witness[WITNESS_ENTRIES];
	struct count_cell cells[VICTIM_THREADS][VICTIM_NUMBERS];
};

#endif
