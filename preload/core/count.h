/* SPDX-License-Identifier: Apache-2.0
 *
 * count - counters of one thread, which its signal handlers count up, too.
 * Any context.
 */
#ifndef PERFREC_PRELOAD_CORE_COUNT_H
#define PERFREC_PRELOAD_CORE_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/atomic.h"

/* Adds one. One instruction, so that a handler's count in between is not lost.
 */
static inline void count_up(uint64_t *counter)
{
#if defined(__x86_64__)
	__asm__ volatile("incq %0" : "+m"(*counter) : : "cc");
#else
	/* relaxed: a count */
	atom_add_rlx(counter, 1);
#endif
}

/* Shifts @bits left by one. */
static inline void count_shift(uint64_t *bits)
{
#if defined(__x86_64__)
	__asm__ volatile("shlq %0" : "+m"(*bits) : : "cc");
#else
	*bits <<= 1;
#endif
}

/* Shifts @bits right by one, arithmetically, and returns the bit that falls
 * out. */
static inline bool count_unshift(uint64_t *bits)
{
	bool out;

#if defined(__x86_64__)
	__asm__ volatile("sarq %0" : "+m"(*bits), "=@ccc"(out));
#else
	out = *bits & 1;
	*bits = (uint64_t)((int64_t)*bits >> 1);
#endif
	return out;
}

/* Sets @bit, which is constant, in @bits. */
static inline void count_or(uint64_t *bits, int bit)
{
#if defined(__x86_64__)
	__asm__ volatile("orq %1, %0" : "+m"(*bits) : "i"(bit) : "cc");
#else
	*bits |= (uint64_t)bit;
#endif
}

/* Returns what was counted and sets the counter to 0, in one instruction as
 * well. */
static inline uint64_t count_take(uint64_t *counter)
{
	/* order: sc, COUNT: a handler finds it taken or not */
	return atom_xchg_sc(counter, 0);
}

#endif
