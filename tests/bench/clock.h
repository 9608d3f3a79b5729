/* SPDX-License-Identifier: Apache-2.0
 *
 * clock - the clocks of the benchmarks: the counter as the shim's fast path
 * reads it (preload/clock.h), and the kernel's in ns. By ordinary calls: what
 * is in preload/ asks the shim where libc is.
 */
#ifndef PERFREC_BENCH_CLOCK_H
#define PERFREC_BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ticks(void)
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

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
