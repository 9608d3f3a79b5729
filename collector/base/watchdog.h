/* SPDX-License-Identifier: Apache-2.0
 *
 * watchdog - a thread that logs which other thread makes no progress, and what
 * it does (pulse.h): after WATCHDOG_LATE_NS, and then each time that its piece
 * of work has taken twice as long.
 */
#ifndef PERFREC_COLLECTOR_BASE_WATCHDOG_H
#define PERFREC_COLLECTOR_BASE_WATCHDOG_H

#include <stdint.h>

#include "collector/base/log.h"

#define WATCHDOG_LATE_NS 10000000000ull

/* Starts the thread; it writes lines of @level. Once for a process. 0 or
 * -errno. */
int watchdog_start(enum log_level level);
/* Ends it. Nothing happens if it was not started. */
void watchdog_stop(void);
/* What it does every second: looks at all threads as of @now_ns, of
 * CLOCK_MONOTONIC. Returns how many lines it has logged, of @level. One thread
 * at a time. */
unsigned int watchdog_look(uint64_t now_ns, enum log_level level);

#endif
