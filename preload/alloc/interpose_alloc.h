/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_alloc - when malloc() and its family record, and blocks of the
 * program's own heaps.
 */
#ifndef PERFREC_PRELOAD_ALLOC_INTERPOSE_ALLOC_H
#define PERFREC_PRELOAD_ALLOC_INTERPOSE_ALLOC_H

#include <stdint.h>

struct wire_reply;

/*
 * The first allocation of all, or the shim's constructor: start recording, if
 * this program is to be recorded and libc is ready. Where that is too early
 * nothing happens. Main thread, before there are others.
 */
void alloc_begin(void);

/* Recording is on; @reply says what the collector wants. */
void alloc_start(const struct wire_reply *reply);

/* Recording is off, for good. Any context. */
void alloc_stop(void);

/* --- heaps of the program's own ----------------------------------------------
 */

/*
 * The program's own allocator, which @heap_site names (site_shm.h), has handed
 * out @block, or takes it back. It is recorded as allocations are; if @block is
 * NULL, nothing is. What the program calls must end with a tail call of these,
 * so that the stack they copy is the program's. Any context in which a hook may
 * run.
 */
void alloc_report(uint32_t heap_site, const void *block, uint64_t size);
void alloc_report_free(uint32_t heap_site, const void *block);

#endif
