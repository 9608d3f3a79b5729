/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_sync - records the contended calls of locks (docs/WAITS.md).
 */
#ifndef PERFREC_PRELOAD_SYNC_INTERPOSE_SYNC_H
#define PERFREC_PRELOAD_SYNC_INTERPOSE_SYNC_H

#include <stdbool.h>
#include <stdint.h>

/* Records contended calls from now on, or no longer. Any context. */
void interpose_sync_record(bool on);

/* Records that this thread ends, for the thread that joins it. Call it before the
 * thread loses its slot. */
void interpose_sync_thread_ends(void);

/* syscall() with SYS_futex as @number: waits and wakes by the program itself. All
 * arguments are where syscall() has them. */
long interpose_futex(long number, uint32_t *word, int operation, uint32_t value,
		     uintptr_t timeout, uintptr_t other, uint32_t last_value);

#endif
