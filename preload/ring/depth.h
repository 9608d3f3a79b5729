/* SPDX-License-Identifier: Apache-2.0
 *
 * depth - --depth: which begins and ends need not be recorded, as they lie too
 * deep. The collector cuts (replay.h); the shim only saves what it is sure
 * would be cut. See depth.c.
 *
 * All of it: attached threads only; any context in which a hook may run.
 */
#ifndef PERFREC_PRELOAD_RING_DEPTH_H
#define PERFREC_PRELOAD_RING_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/record.h"

/* Whether the BEGIN or END @word of a hook with the stack pointer @sp is to be
 * recorded. Once for each, before it is put. */
bool depth_admits(uint64_t word, uintptr_t sp);

/* Before a FLOW record: record the begin of each open span that was left out.
 * Where it belongs is then for the collector to say. */
void depth_tell(void);

/* After the FLOW record of @address and @sp: forget what may be over by it. */
void depth_follow(enum record_flow flow, uint64_t address, uintptr_t sp);

#endif
