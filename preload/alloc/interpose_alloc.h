/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_alloc - recording of malloc() and its family, and of blocks of the
 * program's own heaps.
 */
#ifndef PERFREC_PRELOAD_ALLOC_INTERPOSE_ALLOC_H
#define PERFREC_PRELOAD_ALLOC_INTERPOSE_ALLOC_H

#include <stdint.h>

struct wire_reply;

/* Starts recording at the first allocation or in the constructor, if this
 * program is to be recorded and libc is ready. Otherwise does nothing. Main
 * thread, before other threads exist. */
void alloc_begin(void);

/* Starts recording as @reply asks. */
void alloc_start(const struct wire_reply *reply);

/* Stops recording, for good. Any context. */
void alloc_stop(void);

/* --- heaps of the program's own ------------------------------------------ */

/*
 * Record that the program's own allocator @heap_site (site_shm.h) has handed
 * out @block, or takes it back. A NULL @block is ignored. The caller must end
 * with a tail call of these, so that the copied stack is the program's. Any
 * context where a hook may run.
 */
void alloc_report(uint32_t heap_site, const void *block, uint64_t size);
void alloc_report_free(uint32_t heap_site, const void *block);

#endif
