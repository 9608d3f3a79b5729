/* SPDX-License-Identifier: Apache-2.0
 *
 * count - counters that a thread and its signal handlers increment. Callable
 * from any context.
 */
#ifndef PERFREC_PRELOAD_CORE_COUNT_H
#define PERFREC_PRELOAD_CORE_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/atomic.h"

/* One instruction, so that no increment of a handler is lost. */
static inline void count_up(uint64_t *counter)
{
#if defined(__x86_64__)
	__asm__ volatile("incq %0" : "+m"(*counter) : : "cc");
#else
	/* relaxed: a count */
	atom_add_rlx(counter, 1);
#endif
}

static inline void count_shift(uint64_t *bits)
{
#if defined(__x86_64__)
	__asm__ volatile("shlq %0" : "+m"(*bits) : : "cc");
#else
	*bits <<= 1;
#endif
}

/* Shifts @bits right by one, arithmetically. Returns the bit shifted out. */
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

static inline void count_or(uint64_t *bits, int bit)
{
#if defined(__x86_64__)
	__asm__ volatile("orq %1, %0" : "+m"(*bits) : "i"(bit) : "cc");
#else
	*bits |= (uint64_t)bit;
#endif
}

/* Returns the count and resets it, in one instruction. */
static inline uint64_t count_take(uint64_t *counter)
{
	/* order: sc, COUNT: a handler finds it taken or not */
	return atom_xchg_sc(counter, 0);
}

#endif
