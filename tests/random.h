/* SPDX-License-Identifier: Apache-2.0
 *
 * random - numbers that are the same for a seed on every machine.
 */
#ifndef PERFREC_TESTS_RANDOM_H
#define PERFREC_TESTS_RANDOM_H

#include <stdint.h>

/* Returns the number after *@state, a seed other than 0 (xorshift64). */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
