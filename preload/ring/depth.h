/* SPDX-License-Identifier: Apache-2.0
 *
 * depth - --depth: spans that need not be recorded, as they lie too deep. It is
 * the collector that cuts (replay.h). The shim only leaves out what is sure to
 * be cut; depth.c says how it knows.
 *
 * For attached threads, in any context in which a hook may run.
 */
#ifndef PERFREC_PRELOAD_RING_DEPTH_H
#define PERFREC_PRELOAD_RING_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/record.h"

/* Whether to record @word, a BEGIN or END of a hook whose stack pointer is @sp.
 * Call this once for each of them, before it is put. */
bool depth_admits(uint64_t word, uintptr_t sp);

/* Record the begin of each open span that was left out. Call this before a FLOW
 * record: then the collector knows all that is open, and applies its rules. */
void depth_tell(void);

/* Forget the spans that may be over by a jump. Call this after the FLOW
 * record of @flow, @address and @sp. */
void depth_follow(enum record_flow flow, uint64_t address, uintptr_t sp);

#endif
