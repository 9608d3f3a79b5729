/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc_wrap - the common part of all wrappers. It is inlined into the wrapper,
 * where the caller's registers still have their values.
 *
 * An allocation's clock is read after the real function, a free's clock before
 * it. So the program owns the block at both times. An exception out of the real
 * function means that nothing was allocated.
 */
#ifndef PERFREC_PRELOAD_ALLOC_ALLOC_WRAP_H
#define PERFREC_PRELOAD_ALLOC_ALLOC_WRAP_H

#include "preload/alloc/alloc.h"
#include "preload/alloc/heap_sample.h"
#include "shared/atomic.h"
#include "shared/wire.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Bits beside the mode; the wrappers compare, so their order matters. Functions
 * of this allocator may call each other by public names. Those of the C library
 * never do, so it has no such bit. */
#define ALLOC_NESTS 4u
/* With ALLOC_NESTS: free() may call the shim's realloc(). */
#define ALLOC_FREE_NESTS 8u
/* With ALLOC_NESTS: the program defines malloc(), and no C function has reached
 * the shim yet. */
#define ALLOC_UNSEEN 16u
/* Undecided, and the real functions are unknown. */
#define ALLOC_UNDECIDED 32u
/* A bit of t_alloc.outer: the wrapper belongs to an operator. A program's
 * operator may call the runtime's. */
#define OUTER_IS_CXX 1u

/* Mask of an enum wire_alloc. */
#define ALLOC_MODE 3u

/* enum wire_alloc and the bits above; or ALLOC_UNDECIDED. While recording is
 * off, a wrapper reads only this. */
extern uint32_t g_alloc_mode;

/* Slow path of wrap_enter(), for modes other than OFF, EXACT and SAMPLED. */
uint32_t alloc_enter(uint32_t mode, bool is_c, uintptr_t *outer,
		     const void *caller, uintptr_t cfa);

/* Returns true if malloc() calls of libraries reach the shim. They do not if
 * the program has its own allocator. */
bool alloc_sees_malloc(void);

/* Return address of a wrapper, and the stack pointer there. */
#define WRAP_CALLER __builtin_return_address(0)
#define WRAP_CFA ((uintptr_t)__builtin_dwarf_cfa())

/* Enters a wrapper of a C function (@is_c) or an operator. Returns an enum
 * wire_alloc; OFF if the allocator calls itself. With ALLOC_NESTS, the wrapper
 * must pass @outer to wrap_leave() after the real function. */
static ALWAYS_INLINE uint32_t wrap_enter(bool is_c, uintptr_t *outer)
{
	/* relaxed: recording may start late in other threads */
	uint32_t mode = atom_load_rlx(&g_alloc_mode);

	/* As arguments of this function they would always be computed. */
	if (unlikely(mode >= ALLOC_NESTS)) {
		if (unlikely(mode >= ALLOC_UNSEEN) || unlikely(t_alloc.outer))
			return alloc_enter(mode, is_c, outer, WRAP_CALLER,
					   WRAP_CFA);
		*outer = 0;
		t_alloc.outer = is_c ? WRAP_CFA : WRAP_CFA | OUTER_IS_CXX;
		return mode;
	}
	/* For clang's analyzer. */
	if (mode & ALLOC_NESTS)
		__builtin_unreachable();
	return mode;
}

/* After the real function. Returns an enum wire_alloc. */
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

/* EXACT: records the stack of some recorded blocks. */
static ALWAYS_INLINE void wrap_stack(const void *block, size_t size,
				     const void *caller, uintptr_t cfa)
{
	struct alloc_caller registers;

	if (heap_sample_passes(size)) {
		alloc_caller_fill(&registers, caller, cfa);
		heap_sample_stack(block, size, &registers);
	}
}

/* Records the result of the real function. Returns @block. */
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

/* Records that @block (may be NULL) is about to be freed. @mode is not OFF. */
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
