/* SPDX-License-Identifier: Apache-2.0
 *
 * wait - a full ring in block mode, and whether there is a collector at all.
 */
#ifndef PERFREC_PRELOAD_RING_WAIT_H
#define PERFREC_PRELOAD_RING_WAIT_H

#include <stdbool.h>

#include "shared/record.h"

/* True when the collector has died, closed, or wants nothing more from this
 * process. Any context; no system call. */
bool collector_left(void);

/*
 * Wait until half of the ring is free, and record the wait. False when it is
 * not worth it: the collector has left or is stopped, or system calls are
 * forbidden. Attached threads only; any context.
 */
bool wait_for_room(void);

#endif
