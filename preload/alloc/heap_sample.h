/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_sample - records some allocations with their stacks; poisson.h says
 * which. Callable from any context where a hook may run.
 */
#ifndef PERFREC_PRELOAD_ALLOC_HEAP_SAMPLE_H
#define PERFREC_PRELOAD_ALLOC_HEAP_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/alloc/alloc.h"
#include "preload/alloc/heap_live.h"

/* Returns the key of a block in heap_live. @site is 0, or that of the program's
 * own heap, whose blocks may be inside malloc()'s. */
static inline uint64_t heap_sample_key(uint32_t site, const void *block)
{
	return (uint64_t)site << 48 ^ (uintptr_t)block;
}

/* Sets the mean distance between samples to @period bytes, and the largest copy
 * of a stack to @stack_bytes. For exact records (not @is_sampled), @period is
 * for copies of stacks; 0: none. Once, when recording has started. */
void heap_sample_start(uint64_t period, uint32_t stack_bytes, bool is_sampled);

/* Records @block, which has a sample point, and draws the next point. */
void heap_sample_take(uint32_t site, const void *block, uint64_t size,
		      const struct alloc_caller *caller);

/* Records only the stack of @block, which is recorded exactly. */
void heap_sample_stack(const void *block, uint64_t size,
		       const struct alloc_caller *caller);

/* Starts anew in a forked child, which has its own heap. */
void heap_sample_forked(void);

/* Records a free of @block, a sampled one, as heap_sample_free(). */
void heap_sample_put_free(uint32_t site, const void *block, const void *caller);

/* Returns true if a sample point is in the next @size bytes that this thread
 * allocates. Then the caller calls heap_sample_take() or
 * heap_sample_stack(). */
static inline bool heap_sample_passes(uint64_t size)
{
	t_alloc.left -= (int64_t)size;
	return unlikely(t_alloc.left < 0);
}

/* Records a free of @block, if sampled: about to happen, or by realloc(). */
static inline void heap_sample_free(uint32_t site, const void *block,
				    const void *caller)
{
	if (unlikely(heap_live_remove(heap_sample_key(site, block))))
		heap_sample_put_free(site, block, caller);
}

#endif
