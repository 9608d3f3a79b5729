/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_heap - what a thread says of blocks of memory, on the way into its
 * process' heap (process_heap.h). Most of it goes there inline in replay
 * (heap_feed.h); here is the rest.
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

/* All for the thread's drain worker, unless said otherwise. */

/* An ALLOC or FREE of @thread, on the stack of @replay. */
void thread_heap_block(struct thread *thread, struct replay *replay,
		       uint64_t word, uint64_t clock);
/* The same for EXT_ALLOC to EXT_ALLOC_LOSS (record_ext.h), a copy. 0, or
 * -EBADMSG: nonsense. */
int thread_heap_extended(struct thread *thread, struct replay *replay,
			 const struct record *cells, size_t count);
/* Whether a sampled stack of a block, recorded on the stack of @replay, is of
 * use: always where all blocks are sampled; else where no span tells it. */
bool thread_heap_wants(const struct thread *thread,
		       const struct replay *replay);
/* A block that was sampled (SAMPLE_ALLOC): it is posted to its process' samples
 * when all that is older has come, and so is its free (a FREE record). 0: it is
 * no more the caller's; or -ENOMEM. */
int thread_heap_sample(struct thread *thread, struct sample *sample);
/* There was no memory for the sampled stack of a block: it is counted, if it
 * was all that tells of the block. */
void thread_heap_lose_sample(struct thread *thread);
/* After each visit of its ring. */
void thread_heap_flush(struct thread *thread);
/* It has ended; so has what its slot says of losses. */
void thread_heap_finish(struct thread *thread);
/* Frees thread->heap, once no replay of the thread runs any more. Any thread.
 */
void thread_heap_release(struct thread *thread);

/* The number in @stacks of the stack that @node of @cct stands for: of its
 * functions, as they were when they were first called; of no function
 * "[unknown]". Kept in the node: it must always be the same @stacks. */
uint32_t cct_stack(const struct cct *cct, struct cct_node *node,
		   struct stacks *stacks);

#endif
