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

/* Claim a slot for this thread, under the epoch of the gate's word @gate. False
 * when none is free: the thread is counted. Any context; not in a vfork child.
 */
bool slot_attach(uint64_t gate);

/* Count a span that is not recorded because this thread has no slot: none was
 * free, slot_mute() was called, or it is a vfork child. Any context. */
void slot_count_span(void);

/* Hand this thread's slot to the collector, if it has one: the thread ends. Any
 * context. */
void slot_detach(void);

/* This thread may not read the clock any more: from now on its spans are only
 * counted. */
void slot_mute(void);

/* The thread @pthread (pthread_self()) of this process is called @name now.
 * What is longer than SLOT_NAME_BYTES is cut. Any thread. */
void slot_set_name(uint64_t pthread, const char *name);

/*
 * Give back the address space of slots that nobody uses, so that the slots take
 * no more than @bytes; with UINT64_MAX nothing is given back. This thread keeps
 * its slot, or one that it can claim. Later threads and forked children may
 * find none. Any thread.
 */
void slot_retire_unused(uint64_t bytes);

#endif
