/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_sample - records some allocations, with the stack on which each was
 * made. poisson.h explains which ones. Any context in which a hook may run.
 */
#ifndef PERFREC_PRELOAD_ALLOC_HEAP_SAMPLE_H
#define PERFREC_PRELOAD_ALLOC_HEAP_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/alloc/alloc.h"
#include "preload/alloc/heap_live.h"

/* The key of a block in heap_live. @site is that of a heap of the program's
 * own, or 0: such a heap may have its blocks inside of malloc's. */
static inline uint64_t heap_sample_key(uint32_t site, const void *block)
{
	return (uint64_t)site << 48 ^ (uintptr_t)block;
}

/* Once, when recording has started: the mean distance between samples is
 * @period bytes, and @stack_bytes of a stack are copied at most. Where blocks
 * are recorded exactly (not @is_sampled), @period is that between those whose
 * stack is copied, or 0: none is. */
void heap_sample_start(uint64_t period, uint32_t stack_bytes, bool is_sampled);

/* A sample point lies in @block: record the block, and draw the next point. */
void heap_sample_take(uint32_t site, const void *block, uint64_t size,
		      const struct alloc_caller *caller);

/* The same where @block has been recorded exactly: only its stack is recorded.
 */
void heap_sample_stack(const void *block, uint64_t size,
		       const struct alloc_caller *caller);

/* This is a forked child, which has a heap of its own: begin anew. */
void heap_sample_forked(void);

/* Record that @block, which was sampled, is about to be freed, or that
 * realloc() has freed it. */
void heap_sample_put_free(uint32_t site, const void *block, const void *caller);

/* True when a sample point lies within the next @size bytes that this thread
 * allocates: then call heap_sample_take() or heap_sample_stack(). */
static inline bool heap_sample_passes(uint64_t size)
{
	t_alloc.left -= (int64_t)size;
	return unlikely(t_alloc.left < 0);
}

/* @block is about to be freed, or realloc() has freed it: record that, if the
 * block was sampled. */
static inline void heap_sample_free(uint32_t site, const void *block,
				    const void *caller)
{
	if (unlikely(heap_live_remove(heap_sample_key(site, block))))
		heap_sample_put_free(site, block, caller);
}

#endif
