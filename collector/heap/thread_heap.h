/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_heap - blocks of memory of one thread, on their way to the heap of its
 * process (process_heap.h). Replay feeds most of them inline (heap_feed.h);
 * this module does the rest.
 */
#ifndef PERFREC_COLLECTOR_HEAP_THREAD_HEAP_H
#define PERFREC_COLLECTOR_HEAP_THREAD_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/record_ext.h"

struct cct;
struct cct_node;
struct replay;
struct sample;
struct stacks;
struct thread;

/* For the thread's drain worker, unless a comment says otherwise. */

/* Applies an ALLOC or FREE of @thread on the stack of @replay. */
void thread_heap_block(struct thread *thread, struct replay *replay,
		       uint64_t word, uint64_t clock);
/* As thread_heap_block() for @count cells, a copy, of EXT_ALLOC to
 * EXT_ALLOC_LOSS (record_ext.h). Returns 0, or -EBADMSG if malformed. */
int thread_heap_extended(struct thread *thread, struct replay *replay,
			 const struct record *cells, size_t count);
/* Returns true if a sampled stack is of use for a block on the stack of
 * @replay: always in a sampled heap, else only outside of any span. */
bool thread_heap_wants(const struct thread *thread,
		       const struct replay *replay);
/* Feeds @sample, a sampled block (SAMPLE_ALLOC), to the order of the heap. Once
 * all older items have arrived, it is posted to the samples of the process; its
 * FREE record takes the same way. Returns 0 and owns @sample, or -ENOMEM and
 * the caller keeps it. */
int thread_heap_sample(struct thread *thread, struct sample *sample);
/* Counts a sampled stack lost for lack of memory, if no other record reports
 * the block. */
void thread_heap_lose_sample(struct thread *thread);
void thread_heap_flush(struct thread *thread);
/* Reports the last losses, from the slot, after the thread has ended. */
void thread_heap_finish(struct thread *thread);
/* Frees thread->heap after the end of the thread's last replay. Any thread. */
void thread_heap_release(struct thread *thread);

/* Returns the number in @stacks of the stack of @node: the functions from the
 * root to @node, with the generations of their first calls, or "[unknown]" for
 * the root. The node stores the number, so all calls for @cct must use the same
 * @stacks. */
uint32_t cct_stack(const struct cct *cct, struct cct_node *node,
		   struct stacks *stacks);

#endif
