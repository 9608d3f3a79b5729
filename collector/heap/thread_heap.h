/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_heap - what one thread tells of blocks of memory, on its way into the
 * heap of its process (process_heap.h). Replay itself feeds most of it, inline
 * (heap_feed.h); this module does the rest.
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

/* Take in an ALLOC or FREE of @thread, on the stack of @replay. */
void thread_heap_block(struct thread *thread, struct replay *replay,
		       uint64_t word, uint64_t clock);
/* The same for the @count cells, a copy, of EXT_ALLOC to EXT_ALLOC_LOSS
 * (record_ext.h). 0, or -EBADMSG if they make no sense. */
int thread_heap_extended(struct thread *thread, struct replay *replay,
			 const struct record *cells, size_t count);
/* Whether a sampled stack of a block, recorded on the stack of @replay, is of
 * use: always where blocks are sampled, and else where no span is open that
 * would tell the stack. */
bool thread_heap_wants(const struct thread *thread,
		       const struct replay *replay);
/* Feed @sample, a sampled block (SAMPLE_ALLOC), to the order of the heap. It is
 * posted to the samples of its process when all that is older has come; so will
 * its free be, which is a FREE record. 0: @sample is the callee's; or
 * -ENOMEM: it stays the caller's. */
int thread_heap_sample(struct thread *thread, struct sample *sample);
/* There was no memory for the sampled stack of a block: it is counted, if it
 * was all that tells of the block. */
void thread_heap_lose_sample(struct thread *thread);
/* To be called after each visit of the thread's ring. */
void thread_heap_flush(struct thread *thread);
/* The thread has ended, and its slot says how much was lost. */
void thread_heap_finish(struct thread *thread);
/* Frees thread->heap, once no replay of the thread runs any more. Any thread.
 */
void thread_heap_release(struct thread *thread);

/* The number in @stacks of the stack that @node of @cct stands for: the
 * functions from the root to @node, with the generations in which they were
 * first called, or "[unknown]" for the root. The number is kept in the node, so
 * @stacks must be the same in all calls for @cct. */
uint32_t cct_stack(const struct cct *cct, struct cct_node *node,
		   struct stacks *stacks);

#endif
