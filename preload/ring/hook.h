/* SPDX-License-Identifier: Apache-2.0
 *
 * hook - the hooks of functions, and the check that a thread may record.
 */
#ifndef PERFREC_PRELOAD_RING_HOOK_H
#define PERFREC_PRELOAD_RING_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/record.h"

#if defined(__x86_64__)
/*
 * Targets of the thunks' jumps (struct thunk_page), never called from C. The
 * first two are the exported hooks under hidden names, which a program cannot
 * replace.
 */
#pragma GCC visibility push(hidden)
void hook_enter(void);
void hook_exit(void);
void hook_enter_general(void);
void hook_entry_enter(void);
void hook_entry_exit(void);
void hook_entry_exit_pushed(void);
void hook_entry_enter_general(void);
void hook_moved_enter(void);
void hook_moved_exit(void);
void hook_moved_count(void);
void hook_moved_enter_2(void);
void hook_moved_enter_6(void);
void hook_moved_enter_14(void);
void hook_moved_enter_any(void);
void hook_moved_exit_words(void);
void hook_moved_exit_any(void);
#pragma GCC visibility pop
#endif

enum may_record {
	MAY_NOT, /* recording is off, or just starting */
	MAY_RECORD,
	MAY_COUNT, /* on, but the thread has no slot or is a vfork() child */
};

/*
 * Returns whether this thread may record now. First starts recording if
 * necessary, or continues it in a forked child, and attaches the thread.
 * @function is an address in the code that the thread runs, or 0; a new module
 * is recorded in the load map first. Callable from any context.
 */
enum may_record hook_may_record(uint64_t function);

#endif
