/* SPDX-License-Identifier: Apache-2.0
 *
 * room_victim - data in a file that room_victim and its test map.
 */
#ifndef PERFREC_TESTS_SHIM_ROOM_VICTIM_H
#define PERFREC_TESTS_SHIM_ROOM_VICTIM_H

#include <stdint.h>

/* Pairs that fill a ring of 64 KiB up to the reserve of ends. */
#define ROOM_PAIRS (4096 / 4 * 3 / 2)

struct room_told {
	/* by the victim: number of requests to empty the ring */
	uint32_t asked;
	uint32_t emptied; /* by the test: number of completed requests */
	uint64_t begins;
	uint64_t handlers; /* that interrupted a BEGIN */
};

#endif
