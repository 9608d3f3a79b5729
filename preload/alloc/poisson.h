/* SPDX-License-Identifier: Apache-2.0
 *
 * poisson - draws the distance to the next sample, without libm.
 *
 * Sample points lie on the bytes that a thread allocates, one after another, as
 * a Poisson process with mean distance T: distances are independent and
 * exponential, -T ln(u) with u uniform in (0, 1]. The process is memoryless, so
 * a block of s bytes has a point with probability p = 1 - exp(-s / T). A
 * sampled block therefore stands for 1 / p such blocks and s / p bytes, and
 * both estimates have the right mean. If n blocks of one size exist, the number
 * of samples is binomial(n, p), so the standard deviation of the estimate of n
 * is sqrt(n (1 - p) / p).
 *
 * -ln(u) = (64 - log2(r)) ln 2 for u = r / 2^64. The whole part of log2(r) is
 * the position of its highest bit. For the fraction of y = 2^f in [1, 2): y^2
 * >= 2 if and only if the first binary digit of f is 1. If so, y^2 is halved.
 * Its square gives the next digit, and so on. Digits are exact while the
 * squares are: with 63 bits after the point, 32 digits are off by less than
 * 2^-30.
 *
 * Pure functions, callable from any context.
 */
#ifndef PERFREC_PRELOAD_ALLOC_POISSON_H
#define PERFREC_PRELOAD_ALLOC_POISSON_H

#include <stdint.h>

#define LOG2_DIGITS 32
/* ln 2 * 2^32 */
#define LN2_FIXED 2977044472ULL
/* A larger period never samples. */
#define POISSON_PERIOD_MAX (1ULL << 40)

/* Returns log2(@x) * 2^32. @x is not 0. */
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

/* Returns the distance in bytes: below 2^47, @period on average. */
static inline int64_t poisson_distance(uint64_t period, uint64_t *state)
{
	uint64_t r = poisson_random(state) | 1;
	uint64_t log = (64ULL << LOG2_DIGITS) - log2_fixed(r);

	if (period > POISSON_PERIOD_MAX)
		period = POISSON_PERIOD_MAX;
	return (int64_t)((unsigned __int128)period * log * LN2_FIXED >> 64);
}

#endif
