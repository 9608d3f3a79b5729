/* SPDX-License-Identifier: Apache-2.0
 *
 * clock - the kernel's clocks in nanoseconds. Any thread; no function can fail.
 */
#ifndef PERFREC_COLLECTOR_BASE_CLOCK_H
#define PERFREC_COLLECTOR_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* @clock must exist in this kernel. */
uint64_t clock_read_ns(clockid_t clock);

/* CLOCK_BOOTTIME is the clock of the trace: it advances while the machine is
 * suspended. */
static inline uint64_t clock_boottime_ns(void)
{
	return clock_read_ns(CLOCK_BOOTTIME);
}

/* CLOCK_MONOTONIC is for time limits: it stops while the machine is
 * suspended. */
static inline uint64_t clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

#endif
