/* SPDX-License-Identifier: Apache-2.0
 *
 * clock - the kernel's clocks in ns, and a check whether the CPU's counter
 * (shared/ticks.h) may be read. A recording uses one of these clocks (enum
 * wire_clock). Callable from any context.
 */
#ifndef PERFREC_PRELOAD_CORE_CLOCK_H
#define PERFREC_PRELOAD_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

#include "preload/core/libc.h"
#include "preload/core/sys.h"

/* Returns false if prctl(PR_SET_TSC) has made rdtsc fault in this thread. The
 * vDSO's clocks then fault as well, because they read the counter. */
static inline bool clock_allowed(void)
{
	int state = PR_TSC_ENABLE;

	return sys(SYS_prctl, PR_GET_TSC, &state) < 0 || state == PR_TSC_ENABLE;
}

/* Returns clock @id in ns, without a system call (vDSO). Keeps errno. */
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
