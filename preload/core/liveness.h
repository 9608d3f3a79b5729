/* SPDX-License-Identifier: Apache-2.0
 *
 * liveness - whether the collector is alive.
 */
#ifndef PERFREC_PRELOAD_CORE_LIVENESS_H
#define PERFREC_PRELOAD_CORE_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns true if @owner, from the liveness page, means a dead collector. */
bool liveness_owner_died(uint32_t owner);

/* Returns true if the collector died, closed, or needs nothing more from this
 * process. Once recording has started; any context; no system call. */
bool collector_left(void);

#endif
