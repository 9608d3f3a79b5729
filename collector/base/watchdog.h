/* SPDX-License-Identifier: Apache-2.0
 *
 * watchdog - a thread that logs other threads without progress and their work
 * (pulse.h): after WATCHDOG_LATE_NS, and then whenever the time has doubled.
 */
#ifndef PERFREC_COLLECTOR_BASE_WATCHDOG_H
#define PERFREC_COLLECTOR_BASE_WATCHDOG_H

#include <stdint.h>

#include "collector/base/log.h"

#define WATCHDOG_LATE_NS 10000000000ull

/* Starts the thread, which logs at @level. Once for a process. Returns 0 or
 * -errno. */
int watchdog_start(enum log_level level);
void watchdog_stop(void);
/* The thread's check of each second: looks at all threads at @now_ns,
 * CLOCK_MONOTONIC. Returns the number of lines logged at @level. One thread at
 * a time. */
unsigned int watchdog_look(uint64_t now_ns, enum log_level level);

#endif
