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
/* A bit beside the mode: functions of the allocator may call each other by
 * public names. Functions of the C library never do. */
#define ALLOC_NESTS 4u
/* With ALLOC_NESTS: the program defines malloc(), and no function of C has come
 * to the shim yet. */
#define ALLOC_UNSEEN 8u
/* With ALLOC_NESTS: free() may call realloc() of the shim. */
#define ALLOC_FREE_NESTS 16u
/* A bit of t_alloc.outer: the wrapper is that of an operator. One in front of
 * the runtime's may call that. */
#define OUTER_IS_CXX 1u

/* The bits of an enum wire_alloc. */
#define ALLOC_MODE 3u

/* enum wire_alloc and the bits above; or ALLOC_UNDECIDED. A wrapper reads
 * nothing else while recording is off. */
extern uint32_t g_alloc_mode;

/* The slow half of wrap_enter(): other modes than OFF, EXACT and SAMPLED. */
uint32_t alloc_enter(uint32_t mode, bool is_c, uintptr_t *outer,
		     const void *caller, uintptr_t cfa);

/* Whether a malloc() that libraries call comes to the shim. It does not where
 * the program has an allocator of its own. */
bool alloc_sees_malloc(void);

/* For use in a wrapper itself: where it returns to, and the stack pointer
 * there. */
#define WRAP_CALLER __builtin_return_address(0)
#define WRAP_CFA ((uintptr_t)__builtin_dwarf_cfa())

/* A wrapper begins. Returns an enum wire_alloc, which is OFF where the
 * allocator calls itself; with ALLOC_NESTS, wrap_leave() must be given @outer
 * behind the real function. @is_c: it wraps a function of C. */
static ALWAYS_INLINE uint32_t wrap_enter(bool is_c, uintptr_t *outer)
{
	/* relaxed: who does not see it yet records nothing yet */
	uint32_t mode = atom_load_rlx(&g_alloc_mode);

	/* Not arguments of this function: they would be read in any case. */
	if (unlikely(mode >= ALLOC_UNDECIDED)) {
		if (unlikely((mode & (ALLOC_NESTS | ALLOC_UNSEEN)) !=
			     ALLOC_NESTS) ||
		    unlikely(t_alloc.outer))
			return alloc_enter(mode, is_c, outer, WRAP_CALLER,
					   WRAP_CFA);
		*outer = 0;
		t_alloc.outer = is_c ? WRAP_CFA : WRAP_CFA | OUTER_IS_CXX;
		return mode;
	}
	/* Said for clang's analyzer. */
	if (mode & ALLOC_NESTS)
		__builtin_unreachable();
	return mode;
}

/* The real function has returned. Returns an enum wire_alloc. */
static ALWAYS_INLINE uint32_t wrap_leave(uint32_t mode, const uintptr_t *outer)
{
	if (unlikely(mode & ALLOC_NESTS))
		t_alloc.outer = *outer;
	return mode & ALLOC_MODE;
}

static ALWAYS_INLINE void wrap_sample(const void *block, size_t size,
				      const void *caller, uintptr_t cfa)
{
	struct alloc_caller registers;

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

/* The real function has returned @block, and wrap_leave() @mode. Returns
 * @block. */
static ALWAYS_INLINE void *wrap_allocated(uint32_t mode, void *block,
					  size_t size, const void *caller,
					  uintptr_t cfa)
{
	if (unlikely(!block))
		return block;
	if (likely(mode == WIRE_ALLOC_EXACT)) {
		alloc_exact(block, size, caller);
		wrap_stack(block, size, caller, cfa);
	} else {
		wrap_sample(block, size, caller, cfa);
	}
	return block;
}

/* @block is about to be freed, if it is not NULL. @mode is not OFF. */
static ALWAYS_INLINE void wrap_free(uint32_t mode, const void *block,
				    const void *caller)
{
	if (unlikely(!block))
		return;
	if (likely((mode & ALLOC_MODE) == WIRE_ALLOC_EXACT))
		alloc_exact_free(block, caller);
	else
		heap_sample_free(0, block, caller);
}

#endif
