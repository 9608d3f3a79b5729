/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_alloc - wraps malloc() and its family, in front of the program's
 * allocator. Each wrapper behaves like the real function, adds nothing to a
 * block, and leaves errno to the real function.
 *
 * Allocations before libc knows its environment (of ld.so, for example) are not
 * recorded. The first one after that starts recording, even before the shim's
 * constructor, because constructors of other libraries run first.
 *
 * An allocator may use its own public functions, for example malloc() and
 * free() in realloc(). The dynamic linker binds these calls to the shim. So for
 * allocators other than the C library's, a wrapper stores that the real
 * function runs (t_alloc.outer), and calls from modules that define such
 * functions pass through. An unseen jump or a switch of stacks leaves the
 * stored value behind. So it only matters near its stack pointer, and calls of
 * other modules are always recorded.
 */
#include "preload/alloc/interpose_alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "preload/alloc/alloc_wrap.h"
#include "preload/core/elf_tables.h"
#include "preload/core/find_next.h"
#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/linker.h"

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
	/* Only if the C library calls another realloc() than the shim's. */
	POINTER(reallocarray, void *, (void *, size_t, size_t))
} g_real;

uint32_t g_alloc_mode = ALLOC_UNDECIDED;

/* Frames between two of an allocator's public functions are smaller. */
#define NEST_BYTES 65536
/* An operator new of libstdc++ is shorter. */
#define OPERATOR_BYTES 256
/* A few allocators, and the eight operators of a few runtimes. */
#define RANGES_MAX 32

/* Code that calls interposed functions while it runs for another one. */
static struct {
	struct range {
		uintptr_t start, bytes;
		bool is_cxx; /* a runtime's operator, not an allocator */
	} ranges[RANGES_MAX];
	uint32_t count;
	uint32_t bits; /* to set in the mode */
} g_beneath;

/* Finds the real functions, before the mode is set. */
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

static void add_range(const void *start, uintptr_t bytes, bool is_cxx)
{
	if (g_beneath.count < RANGES_MAX)
		g_beneath.ranges[g_beneath.count++] =
			(struct range){ (uintptr_t)start, bytes, is_cxx };
}

/* Adds the module of @function, an allocator or the shim itself: a tail call in
 * an allocator returns to the shim. */
static void add_allocator(const void *function)
{
	struct dl_find_object found;

	if (!libc()->find_object((void *)function, &found))
		add_range(found.dlfo_map_start,
			  (uintptr_t)found.dlfo_map_end -
				  (uintptr_t)found.dlfo_map_start,
			  false);
}

static const void *find_one_of_c(const struct elf_tables *tables)
{
	static const char *const names[] = { "malloc",	      "calloc",
					     "realloc",	      "posix_memalign",
					     "aligned_alloc", "memalign" };
	const void *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !found; i++)
		found = elf_tables_find(tables, names[i]);
	return found;
}

static void add_operators(const struct elf_tables *tables)
{
	static const char *const names[] = {
		"_Znwm",
		"_Znam",
		"_ZnwmRKSt9nothrow_t",
		"_ZnamRKSt9nothrow_t",
		"_ZnwmSt11align_val_t",
		"_ZnamSt11align_val_t",
		"_ZnwmSt11align_val_tRKSt9nothrow_t",
		"_ZnamSt11align_val_tRKSt9nothrow_t",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const void *found = elf_tables_find(tables, names[i]);

		if (found)
			add_range(found, OPERATOR_BYTES, true);
	}
}

static void find_beneath(void)
{
	const struct link_map *libc_map = linker_libc(), *map = linker_shim();
	bool is_behind_libc = false;
	struct elf_tables tables;

	add_allocator((const void *)find_beneath);
	while (map && (map = map->l_next)) {
		const void *function = NULL;

		elf_tables_of(&tables, map);
		is_behind_libc |= map == libc_map;
		if (!is_behind_libc)
			function = find_one_of_c(&tables);
		if (!function) {
			add_operators(&tables);
		} else {
			g_beneath.bits |= ALLOC_NESTS;
			if (elf_tables_slot(&tables, "realloc"))
				g_beneath.bits |= ALLOC_FREE_NESTS;
			add_allocator(function);
		}
	}
	if (find_any_in_front("malloc"))
		g_beneath.bits |= ALLOC_NESTS | ALLOC_UNSEEN;
}

void alloc_start(const struct wire_reply *reply)
{
	bool is_sampled = reply->alloc == WIRE_ALLOC_SAMPLED;

	find_allocator();
	find_beneath();
	heap_sample_start(reply->alloc_period, reply->stack_bytes, is_sampled);
	if (reply->alloc == WIRE_ALLOC_EXACT || is_sampled)
		/* relaxed: recording may start late in other threads */
		atom_store_rlx(&g_alloc_mode, reply->alloc | g_beneath.bits);
	else if (reply->alloc == WIRE_ALLOC_OFF)
		/* relaxed: the same */
		atom_store_rlx(&g_alloc_mode, WIRE_ALLOC_OFF);
}

void alloc_stop(void)
{
	find_allocator();
	/* relaxed: only that it arrives matters */
	atom_store_rlx(&g_alloc_mode, WIRE_ALLOC_OFF);
}

/* Not inlined, to keep malloc() short. */
ATTR_NOINLINE void alloc_begin(void)
{
	/* relaxed: no other threads exist yet */
	if (gate_begin_if_wanted() &&
	    atom_load_rlx(&g_alloc_mode) == ALLOC_UNDECIDED)
		alloc_stop();
}

/* Decides: finds the real functions, and starts recording if possible. */
static uint32_t alloc_first_mode(void)
{
	uint32_t mode;

	find_allocator();
	alloc_begin();
	/* relaxed: no other threads exist yet */
	mode = atom_load_rlx(&g_alloc_mode);
	return mode == ALLOC_UNDECIDED ? WIRE_ALLOC_OFF : mode;
}

bool alloc_sees_malloc(void)
{
	uint32_t mode;

	/* relaxed, both: a flag */
	if (atom_load_rlx(&g_alloc_mode) == ALLOC_UNDECIDED)
		alloc_first_mode();
	mode = atom_load_rlx(&g_alloc_mode);
	return mode == ALLOC_UNDECIDED ? !find_any_in_front("malloc")
				       : !(mode & ALLOC_UNSEEN);
}

/* Returns true if a wrapper's caller is code of the allocator, whose function
 * runs in this thread. */
static bool is_inner(const void *caller, uintptr_t cfa)
{
	if (t_alloc.outer - cfa >= NEST_BYTES)
		return false;
	for (uint32_t i = 0; i < g_beneath.count; i++) {
		const struct range *range = &g_beneath.ranges[i];

		if ((uintptr_t)caller - range->start < range->bytes &&
		    (!range->is_cxx || t_alloc.outer & OUTER_IS_CXX))
			return true;
	}
	return false;
}

uint32_t alloc_enter(uint32_t mode, bool is_c, uintptr_t *outer,
		     const void *caller, uintptr_t cfa)
{
	if (mode == ALLOC_UNDECIDED)
		mode = alloc_first_mode();
	if (!(mode & ALLOC_NESTS))
		return mode;
	if (is_inner(caller, cfa))
		return WIRE_ALLOC_OFF;
	if (is_c && mode & ALLOC_UNSEEN)
		/* order: sc, ALLOCMODE: it may be switched off meanwhile */
		(void)atom_cas_sc(&g_alloc_mode, mode, mode & ~ALLOC_UNSEEN);
	*outer = t_alloc.outer;
	t_alloc.outer = is_c ? cfa : cfa | OUTER_IS_CXX;
	return (mode & ALLOC_MODE) | ALLOC_NESTS;
}

#define ENTER() wrap_enter(true, &outer)

/* The end of a wrapper, after the real function has returned @block. */
#define ALLOCATED(block, size)                                             \
	wrap_allocated(wrap_leave(mode, &outer), block, size, WRAP_CALLER, \
		       WRAP_CFA)

/* Returns the bytes that the program asked for, if @caller is an operator new
 * that rounded them up to @size. An operator that throws does not call. */
static ALWAYS_INLINE uint64_t take_asked(size_t alignment, size_t size,
					 const void *caller)
{
	uint64_t bytes = t_alloc.asked.bytes;

	if (likely((uintptr_t)caller - t_alloc.asked.by >= OPERATOR_BYTES))
		return size;
	t_alloc.asked.by = 0;
	return bytes <= size && size - bytes <= alignment ? bytes : size;
}

ATTR_EXPORT void *malloc(size_t size)
{
	uintptr_t outer;
	uint32_t mode = ENTER();
	void *block;

	if (likely(!mode))
		return g_real.malloc(size);
	block = g_real.malloc(size);
	return ALLOCATED(block, size);
}

ATTR_EXPORT void *calloc(size_t count, size_t size)
{
	uintptr_t outer;
	uint32_t mode = ENTER();
	void *block;

	if (likely(!mode))
		return g_real.calloc(count, size);
	block = g_real.calloc(count, size);
	return ALLOCATED(block, count * size);
}

ATTR_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	uintptr_t outer;
	uint32_t mode = ENTER();
	uint64_t asked;
	void *block;

	if (likely(!mode))
		return g_real.aligned_alloc(alignment, size);
	asked = take_asked(alignment, size, WRAP_CALLER);
	block = g_real.aligned_alloc(alignment, size);
	return ALLOCATED(block, asked);
}

ATTR_EXPORT void *memalign(size_t alignment, size_t size)
{
	uintptr_t outer;
	uint32_t mode = ENTER();
	uint64_t asked;
	void *block;

	if (likely(!mode))
		return g_real.memalign(alignment, size);
	asked = take_asked(alignment, size, WRAP_CALLER);
	block = g_real.memalign(alignment, size);
	return ALLOCATED(block, asked);
}

ATTR_EXPORT void *valloc(size_t size)
{
	uintptr_t outer;
	uint32_t mode = ENTER();
	void *block;

	if (likely(!mode))
		return g_real.valloc(size);
	block = g_real.valloc(size);
	return ALLOCATED(block, size);
}

ATTR_EXPORT void *pvalloc(size_t size)
{
	uintptr_t outer;
	uint32_t mode = ENTER();
	void *block;

	if (likely(!mode))
		return g_real.pvalloc(size);
	block = g_real.pvalloc(size);
	return ALLOCATED(block, size);
}

ATTR_EXPORT int posix_memalign(void **block, size_t alignment, size_t size)
{
	uintptr_t outer;
	uint32_t mode = ENTER();
	uint64_t asked;
	int result;

	if (likely(!mode))
		return g_real.posix_memalign(block, alignment, size);
	asked = take_asked(alignment, size, WRAP_CALLER);
	result = g_real.posix_memalign(block, alignment, size);
	mode = wrap_leave(mode, &outer);
	if (!result)
		wrap_allocated(mode, *block, asked, WRAP_CALLER, WRAP_CFA);
	return result;
}

/* Counts as a free and an allocation if it succeeds, else as nothing. */
static ALWAYS_INLINE void *move_block(uint32_t mode, const uintptr_t *outer,
				      void *old, size_t size,
				      const void *caller, uintptr_t cfa)
{
	uint64_t before = 0;
	void *block;

	if ((mode & ALLOC_MODE) == WIRE_ALLOC_EXACT)
		before = g_shim.clock();
	block = g_real.realloc(old, size);
	mode = wrap_leave(mode, outer);
	if (unlikely(!block))
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

static ALWAYS_INLINE void *any_realloc(uint32_t mode, const uintptr_t *outer,
				       void *old, size_t size,
				       const void *caller, uintptr_t cfa)
{
	void *block;

	if (likely(old && size))
		return move_block(mode, outer, old, size, caller, cfa);
	/* This is free(), in some allocators followed by malloc(0). */
	wrap_free(mode, old, caller);
	block = g_real.realloc(old, size);
	mode = wrap_leave(mode, outer);
	return wrap_allocated(mode, block, size, caller, cfa);
}

ATTR_EXPORT void *realloc(void *old, size_t size)
{
	uintptr_t outer;
	uint32_t mode = ENTER();

	if (likely(!mode))
		return g_real.realloc(old, size);
	return any_realloc(mode, &outer, old, size, WRAP_CALLER, WRAP_CFA);
}

/* As in glibc, realloc() of the product. If the program has its own realloc(),
 * glibc's reallocarray() must be called, because it calls that one. */
ATTR_EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	uintptr_t outer;
	uint32_t mode;
	size_t bytes;

	if (unlikely(g_real.reallocarray))
		return g_real.reallocarray(old, count, size);
	if (__builtin_mul_overflow(count, size, &bytes)) {
		*libc()->errno_location() = ENOMEM;
		return NULL;
	}
	mode = ENTER();
	if (likely(!mode))
		return g_real.realloc(old, bytes);
	return any_realloc(mode, &outer, old, bytes, WRAP_CALLER, WRAP_CFA);
}

/* The real function may call the shim, or be called by another wrapper. */
static ATTR_NOINLINE void free_nested(void *block, const void *caller,
				      uintptr_t cfa)
{
	uintptr_t outer;
	/* relaxed: recording may start late in other threads */
	uint32_t mode = alloc_enter(atom_load_rlx(&g_alloc_mode), true, &outer,
				    caller, cfa);

	if (mode)
		wrap_free(mode, block, caller);
	g_real.free(block);
	wrap_leave(mode, &outer);
}

ATTR_EXPORT void free(void *block)
{
	/* relaxed: as above */
	uint32_t mode = atom_load_rlx(&g_alloc_mode);

	if (unlikely(mode >= ALLOC_NESTS) &&
	    (mode >= ALLOC_FREE_NESTS || t_alloc.outer)) {
		free_nested(block, WRAP_CALLER, WRAP_CFA);
		return;
	}
	if (unlikely(mode))
		wrap_free(mode, block, WRAP_CALLER);
	g_real.free(block);
}

/* C23. If the C library lacks them, they are free(). */
ATTR_EXPORT void free_sized(void *block, size_t size);
ATTR_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size);

void free_sized(void *block, size_t size)
{
	uintptr_t outer;
	uint32_t mode = ENTER();

	if (mode)
		wrap_free(mode, block, WRAP_CALLER);
	if (g_real.free_sized)
		g_real.free_sized(block, size);
	else
		g_real.free(block);
	wrap_leave(mode, &outer);
}

void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	uintptr_t outer;
	uint32_t mode = ENTER();

	if (mode)
		wrap_free(mode, block, WRAP_CALLER);
	if (g_real.free_aligned_sized)
		g_real.free_aligned_sized(block, alignment, size);
	else
		g_real.free(block);
	wrap_leave(mode, &outer);
}

/* --- heaps of the program's own ------------------------------------------ */

/* Returns the enum wire_alloc for the program's own heaps. */
static uint32_t report_mode(void)
{
	/* relaxed: recording may start late in other threads */
	uint32_t mode = atom_load_rlx(&g_alloc_mode);

	return (mode == ALLOC_UNDECIDED ? alloc_first_mode() : mode) &
	       ALLOC_MODE;
}

void alloc_report(uint32_t heap_site, const void *block, uint64_t size)
{
	uint32_t mode = report_mode();
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
	uint32_t mode = report_mode();

	if (likely(!mode) || !block)
		return;
	if (mode == WIRE_ALLOC_EXACT)
		alloc_put_report_free(heap_site, block, WRAP_CALLER);
	else
		heap_sample_free(heap_site, block, WRAP_CALLER);
}
