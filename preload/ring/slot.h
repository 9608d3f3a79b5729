/* SPDX-License-Identifier: Apache-2.0
 *
 * slot - a thread's place in the arena. A thread claims a slot for its first
 * record and releases it when it ends (start/thread_end.c). If a thread ends
 * without running destructors (a raw exit, a kill), the collector detects that.
 */
#ifndef PERFREC_PRELOAD_RING_SLOT_H
#define PERFREC_PRELOAD_RING_SLOT_H

#include <stdbool.h>
#include <stdint.h>

/* Claims a slot for this thread, under the epoch of the gate's word @gate.
 * Returns false if no slot is free, and counts the thread. Any context, except
 * in a vfork() child. */
bool slot_attach(uint64_t gate);

/* Counts a lost span of a thread without slot: no slot was free, slot_mute()
 * was called, or it is a vfork() child. Any context. */
void slot_count_span(void);

/* Releases this thread's slot, if it has one, because the thread ends. Any
 * context. */
void slot_detach(void);

/* Called when this thread may no longer read the clock. Its later spans are
 * only counted. */
void slot_mute(void);

/* Sets the name of the thread @pthread (pthread_self()) of this process to
 * @name, cut at SLOT_NAME_BYTES. Any thread. */
void slot_set_name(uint64_t pthread, const char *name);

/*
 * Unmaps unused slots until the slots take at most @bytes of address space;
 * UINT64_MAX unmaps none. This thread keeps its slot, or a slot to claim.
 * Later threads and forked children may find none. Any thread.
 */
void slot_retire_unused(uint64_t bytes);

#endif
