/* SPDX-License-Identifier: Apache-2.0
 *
 * count - counters of one thread, which its signal handlers count up, too.
 * Any context.
 */
#ifndef PERFREC_PRELOAD_CORE_COUNT_H
#define PERFREC_PRELOAD_CORE_COUNT_H

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

/* Returns what was counted and sets the counter to 0, in one instruction as
 * well. */
static inline uint64_t count_take(uint64_t *counter)
{
	/* order: sc, COUNT: a handler finds it taken or not */
	return atom_xchg_sc(counter, 0);
}

#endif
