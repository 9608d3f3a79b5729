/* SPDX-License-Identifier: Apache-2.0
 *
 * clock - the time of the kernel's clocks, in nanoseconds.
 *
 * Every function here may be called by any thread and cannot fail.
 */
#ifndef PERFREC_COLLECTOR_BASE_CLOCK_H
#define PERFREC_COLLECTOR_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The time of @clock, which the kernel must have. */
uint64_t clock_read_ns(clockid_t clock);

/* The time of CLOCK_BOOTTIME, the clock of the trace: it counts on while the
 * machine is suspended. */
static inline uint64_t clock_boottime_ns(void)
{
	return clock_read_ns(CLOCK_BOOTTIME);
}

/* The time of CLOCK_MONOTONIC, for time limits: it stands still while the
 * machine is suspended. */
static inline uint64_t clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

#endif
