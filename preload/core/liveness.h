/* SPDX-License-Identifier: Apache-2.0
 *
 * liveness - whether there still is a collector.
 */
#ifndef PERFREC_PRELOAD_CORE_LIVENESS_H
#define PERFREC_PRELOAD_CORE_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether @owner, as read from the liveness page, says that the collector has
 * died. */
bool liveness_owner_died(uint32_t owner);

/* Whether the collector has died, has closed, or wants nothing more from this
 * process. Once recording has begun; any context; no system call. */
bool collector_left(void);

#endif
