/* SPDX-License-Identifier: Apache-2.0
 *
 * poisson - how far it is to the next sample, without libm.
 *
 * Sample points lie on the bytes that a thread allocates, one after another,
 * as a Poisson process with mean distance T: distances are independent and
 * exponential, -T ln(u) with u uniform in (0, 1]. A block of s bytes has a
 * point in it with probability p = 1 - exp(-s / T), whatever came before, as
 * the process has no memory; so a sampled block stands for 1 / p such blocks
 * and s / p bytes, and both estimates have the right mean. Of n blocks of one
 * size the number that is sampled is binomial(n, p), thus the standard
 * deviation of the estimate of n is sqrt(n (1 - p) / p).
 *
 * -ln(u) = (64 - log2(r)) ln 2 for u = r / 2^64. The whole part of log2(r) is
 * where its highest bit lies. For the fraction of y = 2^f in [1, 2): y^2 is 2
 * or more exactly if the first binary digit of f is 1; halve it then, and go
 * on with the next digit. Digits are exact as long as the squares are: with
 * 63 bits behind the point 32 digits are off by less than 2^-30.
 *
 * Pure; any context.
 */
#ifndef PERFREC_PRELOAD_ALLOC_POISSON_H
#define PERFREC_PRELOAD_ALLOC_POISSON_H

#include <stdint.h>

#define LOG2_DIGITS 32
/* ln 2 * 2^32 */
#define LN2_FIXED 2977044472ULL
/* Beyond this a period is the same as never. */
#define POISSON_PERIOD_MAX (1ULL << 40)

/* log2(@x) * 2^32, of a number that is not 0. */
static inline uint64_t log2_fixed(uint64_t x)
{
	unsigned int whole = 63 - (unsigned int)__builtin_clzll(x);
	uint64_t y = x << (63 - whole); /* 1 <= y < 2, times 2^63 */
	uint64_t fraction = 0;

	for (int i = 0; i < LOG2_DIGITS; i++) {
		/* y * y, times 2^62 */
		uint64_t square = (uint64_t)((unsigned __int128)y * y >> 64);

		fraction <<= 1;
		if (square >> 63) {
			fraction |= 1;
			y = square;
		} else {
			y = square << 1;
		}
	}
	return (uint64_t)whole << LOG2_DIGITS | fraction;
}

/* xorshift64* (Marsaglia, 2003; Vigna, 2016). The state is never 0. */
static inline uint64_t poisson_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

/* Bytes from one sample point to the next, @period on average; below 2^47. */
static inline int64_t poisson_distance(uint64_t period, uint64_t *state)
{
	uint64_t r = poisson_random(state) | 1;
	uint64_t log = (64ULL << LOG2_DIGITS) - log2_fixed(r);

	if (period > POISSON_PERIOD_MAX)
		period = POISSON_PERIOD_MAX;
	return (int64_t)((unsigned __int128)period * log * LN2_FIXED >> 64);
}

#endif
