/* SPDX-License-Identifier: Apache-2.0
 *
 * room_victim - what room_victim and its test tell each other, in a file that
 * both map.
 */
#ifndef PERFREC_TESTS_SHIM_ROOM_VICTIM_H
#define PERFREC_TESTS_SHIM_ROOM_VICTIM_H

#include <stdint.h>

/* Pairs of records that fill a ring of 64 KiB up to what is kept for ends. */
#define ROOM_PAIRS (4096 / 4 * 3 / 2)

struct room_told {
	uint32_t asked; /* by the victim: for an empty ring, so often */
	uint32_t emptied; /* by the test: that often */
	uint64_t begins; /* of the victim */
	uint64_t handlers; /* that came while it put a BEGIN */
};

#endif
