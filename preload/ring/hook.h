/* SPDX-License-Identifier: Apache-2.0
 *
 * hook - the hooks of functions, and whether the running thread may record.
 */
#ifndef PERFREC_PRELOAD_RING_HOOK_H
#define PERFREC_PRELOAD_RING_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/record.h"

#if defined(__x86_64__)
/*
 * Where thunks jump to (struct thunk_page): not called by C. The first two are
 * the exported hooks, by names that no program can define.
 */
#pragma GCC visibility push(hidden)
void hook_enter(void);
void hook_exit(void);
void hook_enter_general(void);
void hook_entry_enter(void);
void hook_entry_exit(void);
void hook_entry_exit_pushed(void);
void hook_entry_enter_general(void);
#pragma GCC visibility pop
#endif

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
