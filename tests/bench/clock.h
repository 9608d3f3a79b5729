/* SPDX-License-Identifier: Apache-2.0
 *
 * clock - the kernel's clocks in ns, for the benchmarks. They use ordinary
 * calls, while preload/ asks the shim for the functions of libc. The counter:
 * shared/ticks.h.
 */
#ifndef PERFREC_BENCH_CLOCK_H
#define PERFREC_BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
