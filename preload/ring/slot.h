/* SPDX-License-Identifier: Apache-2.0
 *
 * slot - a thread's place in the arena. A thread claims it for its first record
 * and hands it back when it ends (start/thread_end.c). Where a thread ends
 * without running destructors (a raw exit, a kill), the collector finds that
 * out.
 */
#ifndef PERFREC_PRELOAD_RING_SLOT_H
#define PERFREC_PRELOAD_RING_SLOT_H

#include <stdbool.h>
#include <stdint.h>

/* Claim a slot for this thread under @gate's epoch. False when none is free
 * (counted). Any context; not while in_vfork. */
bool slot_attach(uint64_t gate);

/* Count a span that is not recorded, as this thread has no slot: in a vfork
 * child, after slot_mute(), or as none was free. Any context. */
void slot_count_span(void);

/* The thread ends: hand its slot to the collector. */
void slot_detach(void);

/* This thread may not read the clock any more: its spans are only counted. */
void slot_mute(void);

/* The thread @pthread (pthread_self()) of this process is called @name now.
 * Any thread. */
void slot_set_name(uint64_t pthread, const char *name);

/*
 * Give back the address space of slots that nobody uses, so that what is left
 * takes no more than @bytes (UINT64_MAX: nothing is given back). This thread
 * keeps a slot in any case, or one that it can claim; later threads, and forked
 * children, may find none. Any thread.
 */
void slot_retire_unused(uint64_t bytes);

#endif
