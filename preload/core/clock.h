/* SPDX-License-Identifier: Apache-2.0
 *
 * clock - the kernel's clocks, in ns, one of which a recording may use (enum
 * wire_clock); and whether the other one, the CPU's counter (shared/ticks.h),
 * may be read. Any context.
 */
#ifndef PERFREC_PRELOAD_CORE_CLOCK_H
#define PERFREC_PRELOAD_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

#include "preload/core/libc.h"
#include "preload/core/sys.h"

/* False when prctl(PR_SET_TSC) has made rdtsc a fault in this thread. Then the
 * vDSO's clocks are faults as well, as they read it. */
static inline bool clock_allowed(void)
{
	int state = PR_TSC_ENABLE;

	return sys(SYS_prctl, PR_GET_TSC, &state) < 0 || state == PR_TSC_ENABLE;
}

/* ns of clock @id. By libc and the vDSO: no system call; keeps errno. */
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
