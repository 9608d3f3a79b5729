/* SPDX-License-Identifier: Apache-2.0
 *
 * ticks - reads the CPU's counter as the hooks do, without fences. Callable
 * from any context.
 */
#ifndef PERFREC_SHARED_TICKS_H
#define PERFREC_SHARED_TICKS_H

#include <stdint.h>

static inline uint64_t ticks_now(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#endif
}

#endif
