/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc_wrap - what every wrapper of an allocating or freeing function does.
 * All of it is inlined into the wrapper: only there the caller's registers are
 * still what they were.
 *
 * The clock of an allocation is read after the real function has returned, that
 * of a free before the real function is called. So the block is the program's
 * at both times. Where an exception leaves the real function nothing was
 * allocated.
 */
#ifndef PERFREC_PRELOAD_ALLOC_ALLOC_WRAP_H
#define PERFREC_PRELOAD_ALLOC_ALLOC_WRAP_H

#include "preload/alloc/alloc.h"
#include "preload/alloc/heap_sample.h"
#include "shared/atomic.h"
#include "shared/wire.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Nobody has looked yet: not even the real functions are known. */
#define ALLOC_UNDECIDED 3u

/* enum wire_alloc, or ALLOC_UNDECIDED. All that a wrapper reads when nothing is
 * to be recorded. */
extern uint32_t g_alloc_mode;

/* The mode of a process that is undecided: finds the real functions of C, and
 * starts recording if it can. */
uint32_t alloc_first_mode(void);

/* What the wrapper that calls this is to do: enum wire_alloc. */
static ALWAYS_INLINE uint32_t alloc_mode(void)
{
	/* relaxed: who does not see it yet records nothing yet */
	uint32_t mode = atom_load_rlx(&g_alloc_mode);

	return unlikely(mode == ALLOC_UNDECIDED) ? alloc_first_mode() : mode;
}

/* A bit of t_alloc.asked: so an operator new of 0 bytes is not "none". */
#define ASKED (1ULL << 63)

/* For use in a wrapper itself: where it returns to, and the stack pointer
 * there. */
#define WRAP_CALLER __builtin_return_address(0)
#define WRAP_CFA ((uintptr_t)__builtin_dwarf_cfa())

static ALWAYS_INLINE void wrap_sample(const void *block, size_t size,
				      const void *caller, uintptr_t cfa)
{
	struct alloc_caller registers;

	t_alloc.last = block;
	t_alloc.told++;
	if (heap_sample_passes(size)) {
		alloc_caller_fill(&registers, caller, cfa);
		heap_sample_take(0, block, size, &registers);
	}
}

/* EXACT: @block was recorded. Of some blocks the stack is recorded, too. */
static ALWAYS_INLINE void wrap_stack(const void *block, size_t size,
				     const void *caller, uintptr_t cfa)
{
	struct alloc_caller registers;

	if (heap_sample_passes(size)) {
		alloc_caller_fill(&registers, caller, cfa);
		heap_sample_stack(block, size, &registers);
	}
}

/* The real function has returned @block; when it was called, t_alloc.told was
 * @told. Returns @block. */
static ALWAYS_INLINE void *wrap_allocated(uint32_t mode, void *block,
					  size_t size, uint64_t told,
					  const void *caller, uintptr_t cfa)
{
	if (unlikely(!block) || alloc_told(block, told))
		return block;
	if (likely(mode == WIRE_ALLOC_EXACT)) {
		alloc_exact(block, size, caller);
		wrap_stack(block, size, caller, cfa);
	} else {
		wrap_sample(block, size, caller, cfa);
	}
	return block;
}

/* @block is about to be freed by a function that may call free(). Returns what
 * wrap_freed() must be given after the call. */
static ALWAYS_INLINE const void *wrap_freeing(uint32_t mode, const void *block,
					      const void *caller)
{
	const void *outer = t_alloc.freeing;

	if (mode == WIRE_ALLOC_EXACT) {
		if (outer != block)
			alloc_exact_free(block, caller);
		t_alloc.freeing = block;
	} else {
		heap_sample_free(0, block, caller);
	}
	return outer;
}

static ALWAYS_INLINE void wrap_freed(const void *outer)
{
	t_alloc.freeing = outer;
}

/* @block is about to be freed by a function that calls no other one. */
static ALWAYS_INLINE void wrap_free(uint32_t mode, const void *block,
				    const void *caller)
{
	if (likely(mode == WIRE_ALLOC_EXACT)) {
		if (likely(t_alloc.freeing != block))
			alloc_exact_free(block, caller);
		else /* an outer one has recorded it */
			t_alloc.freeing = NULL;
	} else {
		heap_sample_free(0, block, caller);
	}
}

#endif
