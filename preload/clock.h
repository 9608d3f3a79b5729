/* SPDX-License-Identifier: Apache-2.0
 *
 * clock - the two clocks of a recording, as raw ticks (enum wire_clock).
 * Both may be read in any context.
 */
#ifndef PERFREC_PRELOAD_CLOCK_H
#define PERFREC_PRELOAD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

#include "preload/libc.h"
#include "preload/sys.h"

/* The CPU's counter: not serialised, as in the fast path. */
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

/* False when prctl(PR_SET_TSC) has made rdtsc a fault in this thread: then the
 * vDSO's clocks, which read it, are faults as well. */
static inline bool clock_allowed(void)
{
	int state = PR_TSC_ENABLE;

	return sys(SYS_prctl, PR_GET_TSC, &state) < 0 || state == PR_TSC_ENABLE;
}

/* ns; by libc and the vDSO: no system call, errno untouched on success. */
static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	libc()->clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_boottime(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

#endif
