/* SPDX-License-Identifier: Apache-2.0
 *
 * random - numbers that are the same again for the same seed, on any machine.
 */
#ifndef PERFREC_TESTS_RANDOM_H
#define PERFREC_TESTS_RANDOM_H

#include <stdint.h>

/* The next number after *@state, a seed that is not 0 (xorshift64). */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
