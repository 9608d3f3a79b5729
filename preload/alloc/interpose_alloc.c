/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_alloc - malloc() and its family, in front of whatever allocator the
 * program has. Each does what the real one does, adds nothing to a block, and
 * leaves errno as the real one does.
 *
 * Before libc knows its environment, allocations (of ld.so and the like) are
 * not recorded. The first one after that starts recording. That may be before
 * the shim's constructor, as those of other libraries run first.
 */
#include "preload/alloc/interpose_alloc.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "preload/alloc/alloc_wrap.h"
#include "preload/core/find_next.h"
#include "preload/core/gate.h"
#include "preload/core/libc.h"

/* X(name, result, parameters) */
#define FUNCTIONS(X)                                      \
	X(malloc, void *, (size_t))                       \
	X(calloc, void *, (size_t, size_t))               \
	X(realloc, void *, (void *, size_t))              \
	X(free, void, (void *))                           \
	X(posix_memalign, int, (void **, size_t, size_t)) \
	X(aligned_alloc, void *, (size_t, size_t))        \
	X(memalign, void *, (size_t, size_t))             \
	X(valloc, void *, (size_t))                       \
	X(pvalloc, void *, (size_t))                      \
	X(free_sized, void, (void *, size_t))             \
	X(free_aligned_sized, void, (void *, size_t, size_t))

#define POINTER(name, result, parameters) result(*name) parameters;
static struct {
	FUNCTIONS(POINTER)
	/* Only where the C library calls another realloc() than ours. */
	POINTER(reallocarray, void *, (void *, size_t, size_t))
} g_real;

uint32_t g_alloc_mode = ALLOC_UNDECIDED;

/* Look up the real functions, which must be known before the mode is. */
static void find_allocator(void)
{
	if (g_real.free)
		return;

#define FIND(function, result, parameters) \
	g_real.function = (result(*) parameters)find_next(#function);
	FUNCTIONS(FIND)
	if (find_any_in_front("realloc"))
		FIND(reallocarray, void *, (void *, size_t, size_t));
#undef FIND
}

void alloc_start(const struct wire_reply *reply)
{
	bool is_sampled = reply->alloc == WIRE_ALLOC_SAMPLED;

	find_allocator();
	heap_sample_start(reply->alloc_period, reply->stack_bytes, is_sampled);
	if (reply->alloc <= WIRE_ALLOC_SAMPLED)
		/* relaxed: who does not see it yet records nothing yet */
		atom_store_rlx(&g_alloc_mode, reply->alloc);
}

void alloc_stop(void)
{
	find_allocator();
	/* relaxed: that it comes is enough */
	atom_store_rlx(&g_alloc_mode, WIRE_ALLOC_OFF);
}

/* Not inlined: malloc() stays short. */
ATTR_NOINLINE void alloc_begin(void)
{
	/* relaxed: there are no threads yet to race with */
	if (gate_begin_if_wanted() &&
	    atom_load_rlx(&g_alloc_mode) == ALLOC_UNDECIDED)
		alloc_stop();
}

uint32_t alloc_first_mode(void)
{
	uint32_t mode;

	find_allocator();
	alloc_begin();
	/* relaxed: this thread is the only one yet */
	mode = atom_load_rlx(&g_alloc_mode);
	return mode == ALLOC_UNDECIDED ? WIRE_ALLOC_OFF : mode;
}

#define ALLOCATED(block, size) \
	wrap_allocated(mode, block, size, told, WRAP_CALLER, WRAP_CFA)

/* How many bytes the program has asked for: an operator new around this call
 * may have rounded them up to the alignment. */
static ALWAYS_INLINE uint64_t take_asked(size_t alignment, size_t size)
{
	uint64_t asked = t_alloc.asked & ~ASKED;
	bool is_asked =
		t_alloc.asked && asked <= size && size - asked <= alignment;

	t_alloc.asked = 0;
	return is_asked ? asked : size;
}

ATTR_EXPORT void *malloc(size_t size)
{
	uint32_t mode = alloc_mode();
	uint64_t told;

	if (likely(!mode))
		return g_real.malloc(size);
	told = t_alloc.told;
	return ALLOCATED(g_real.malloc(size), size);
}

ATTR_EXPORT void *calloc(size_t count, size_t size)
{
	uint32_t mode = alloc_mode();
	uint64_t told;

	if (likely(!mode))
		return g_real.calloc(count, size);
	told = t_alloc.told;
	return ALLOCATED(g_real.calloc(count, size), count * size);
}

ATTR_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	uint32_t mode = alloc_mode();
	uint64_t told, asked;

	if (likely(!mode))
		return g_real.aligned_alloc(alignment, size);
	told = t_alloc.told;
	asked = take_asked(alignment, size);
	return ALLOCATED(g_real.aligned_alloc(alignment, size), asked);
}

ATTR_EXPORT void *memalign(size_t alignment, size_t size)
{
	uint32_t mode = alloc_mode();
	uint64_t told, asked;

	if (likely(!mode))
		return g_real.memalign(alignment, size);
	told = t_alloc.told;
	asked = take_asked(alignment, size);
	return ALLOCATED(g_real.memalign(alignment, size), asked);
}

ATTR_EXPORT void *valloc(size_t size)
{
	uint32_t mode = alloc_mode();
	uint64_t told;

	if (likely(!mode))
		return g_real.valloc(size);
	told = t_alloc.told;
	return ALLOCATED(g_real.valloc(size), size);
}

ATTR_EXPORT void *pvalloc(size_t size)
{
	uint32_t mode = alloc_mode();
	uint64_t told;

	if (likely(!mode))
		return g_real.pvalloc(size);
	told = t_alloc.told;
	return ALLOCATED(g_real.pvalloc(size), size);
}

ATTR_EXPORT int posix_memalign(void **block, size_t alignment, size_t size)
{
	uint32_t mode = alloc_mode();
	uint64_t told, asked;
	int result;

	if (likely(!mode))
		return g_real.posix_memalign(block, alignment, size);
	told = t_alloc.told;
	asked = take_asked(alignment, size);
	result = g_real.posix_memalign(block, alignment, size);
	if (!result)
		ALLOCATED(*block, asked);
	return result;
}

/* realloc() of a block: a free and an allocation if it succeeds, else nothing.
 */
static ALWAYS_INLINE void *move_block(uint32_t mode, void *old, size_t size,
				      const void *caller, uintptr_t cfa)
{
	uint64_t told = t_alloc.told, before = 0;
	void *block;

	if (mode == WIRE_ALLOC_EXACT)
		before = g_shim.clock();
	block = g_real.realloc(old, size);
	if (unlikely(!block) || alloc_told(block, told))
		return block;
	if (mode == WIRE_ALLOC_EXACT) {
		alloc_exact_realloc(old, before, block, size, caller);
		wrap_stack(block, size, caller, cfa);
	} else {
		heap_sample_free(0, old, caller);
		wrap_sample(block, size, caller, cfa);
	}
	return block;
}

/* realloc(old, 0): it is free(), and in some allocators malloc(0) after it. */
static ALWAYS_INLINE void *empty_block(uint32_t mode, void *old,
				       const void *caller, uintptr_t cfa)
{
	const void *outer = wrap_freeing(mode, old, caller);
	uint64_t told = t_alloc.told;
	void *block = g_real.realloc(old, 0);

	wrap_freed(outer);
	return wrap_allocated(mode, block, 0, told, caller, cfa);
}

static ALWAYS_INLINE void *any_realloc(uint32_t mode, void *old, size_t size,
				       const void *caller, uintptr_t cfa)
{
	uint64_t told;

	if (!old) {
		told = t_alloc.told;
		return wrap_allocated(mode, g_real.realloc(NULL, size), size,
				      told, caller, cfa);
	}
	if (unlikely(!size))
		return empty_block(mode, old, caller, cfa);
	return move_block(mode, old, size, caller, cfa);
}

ATTR_EXPORT void *realloc(void *old, size_t size)
{
	uint32_t mode = alloc_mode();

	if (likely(!mode))
		return g_real.realloc(old, size);
	return any_realloc(mode, old, size, WRAP_CALLER, WRAP_CFA);
}

/* Like glibc's it is realloc() of the product. Where the program has a
 * realloc() of its own, glibc's reallocarray() must be called: it calls that
 * one, whose blocks these are. */
ATTR_EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	uint32_t mode = alloc_mode();
	size_t bytes;

	if (unlikely(g_real.reallocarray))
		return g_real.reallocarray(old, count, size);
	if (__builtin_mul_overflow(count, size, &bytes)) {
		*libc()->errno_location() = ENOMEM;
		return NULL;
	}
	if (likely(!mode))
		return g_real.realloc(old, bytes);
	return any_realloc(mode, old, bytes, WRAP_CALLER, WRAP_CFA);
}

ATTR_EXPORT void free(void *block)
{
	uint32_t mode = alloc_mode();

	if (unlikely(mode) && likely(block))
		wrap_free(mode, block, WRAP_CALLER);
	g_real.free(block);
}

/* C23. Where the C library does not have them yet, they are free(). */
ATTR_EXPORT void free_sized(void *block, size_t size);
ATTR_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size);

void free_sized(void *block, size_t size)
{
	uint32_t mode = alloc_mode();
	const void *outer;

	if (!g_real.free_sized) {
		if (mode && block)
			wrap_free(mode, block, WRAP_CALLER);
		g_real.free(block);
		return;
	}
	if (!mode || !block) {
		g_real.free_sized(block, size);
		return;
	}
	outer = wrap_freeing(mode, block, WRAP_CALLER);
	g_real.free_sized(block, size);
	wrap_freed(outer);
}

void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	uint32_t mode = alloc_mode();
	const void *outer;

	if (!g_real.free_aligned_sized) {
		if (mode && block)
			wrap_free(mode, block, WRAP_CALLER);
		g_real.free(block);
		return;
	}
	if (!mode || !block) {
		g_real.free_aligned_sized(block, alignment, size);
		return;
	}
	outer = wrap_freeing(mode, block, WRAP_CALLER);
	g_real.free_aligned_sized(block, alignment, size);
	wrap_freed(outer);
}

/* --- heaps of the program's own
 * -----------------------------------------------
 */

void alloc_report(uint32_t heap_site, const void *block, uint64_t size)
{
	uint32_t mode = alloc_mode();
	struct alloc_caller registers;

	if (likely(!mode) || !block)
		return;
	if (mode == WIRE_ALLOC_EXACT) {
		alloc_put_report(heap_site, block, size, WRAP_CALLER);
	} else if (heap_sample_passes(size)) {
		alloc_caller_fill(&registers, WRAP_CALLER, WRAP_CFA);
		heap_sample_take(heap_site, block, size, &registers);
	}
}

void alloc_report_free(uint32_t heap_site, const void *block)
{
	uint32_t mode = alloc_mode();

	if (likely(!mode) || !block)
		return;
	if (mode == WIRE_ALLOC_EXACT)
		alloc_put_report_free(heap_site, block, WRAP_CALLER);
	else
		heap_sample_free(heap_site, block, WRAP_CALLER);
}
