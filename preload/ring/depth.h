/* SPDX-License-Identifier: Apache-2.0
 *
 * depth - leaves out spans that --depth cuts. The collector decides the depth
 * of spans (replay.h); the shim only leaves out spans that the collector is
 * certain to cut. depth.c explains how it knows.
 *
 * For attached threads, in any context in which a hook may run.
 */
#ifndef PERFREC_PRELOAD_RING_DEPTH_H
#define PERFREC_PRELOAD_RING_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/record.h"

/* Returns true if the caller must record @word, a BEGIN or END of a hook with
 * the stack pointer @sp. Call it once for each, before the record is put. */
bool depth_admits(uint64_t word, uintptr_t sp);

/* Records the BEGIN of each open span that was left out. Call it before a FLOW
 * record, so that the collector knows all open spans and applies its rules. */
void depth_tell(void);

/* Removes spans that a jump may have left. Call it after the FLOW record of
 * @flow, @address and @sp. */
void depth_follow(enum record_flow flow, uint64_t address, uintptr_t sp);

#endif
