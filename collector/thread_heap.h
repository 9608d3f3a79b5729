/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_heap - what a thread says of blocks of memory.
 */
#ifndef PERFREC_COLLECTOR_THREAD_HEAP_H
#define PERFREC_COLLECTOR_THREAD_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "shared/record_ext.h"

struct replay;
struct thread;

/* An ALLOC or FREE of @thread, on the stack of @replay. Its drain worker. */
void thread_heap_block(struct thread *thread, struct replay *replay,
		       uint64_t word, uint64_t clock);
/* The same for EXT_ALLOC to EXT_ALLOC_LOSS (record_ext.h), a copy. 0, or
 * -EBADMSG: nonsense. */
int thread_heap_extended(struct thread *thread, struct replay *replay,
			 const struct record *cells, size_t count);

#endif
