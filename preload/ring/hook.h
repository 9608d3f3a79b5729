/* SPDX-License-Identifier: Apache-2.0
 *
 * hook - the hooks of functions, and whether the running thread may record.
 */
#ifndef PERFREC_PRELOAD_RING_HOOK_H
#define PERFREC_PRELOAD_RING_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/record.h"

enum may_record {
	MAY_NOT, /* recording is off, or starting just now */
	MAY_RECORD,
	MAY_COUNT, /* on, but this thread has no slot, or is a vfork child */
};

/*
 * Whether this thread may record something now. On the way recording starts, or
 * goes on in a forked child, and the thread is attached. @function is an
 * address in the code that the thread runs, or 0: its module may have to be
 * told first. Any context.
 */
enum may_record hook_may_record(uint64_t function);

#endif
