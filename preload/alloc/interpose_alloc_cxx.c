/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_alloc_cxx - operator new and delete, in all their forms (C++20,
 * [new.delete]; names as the Itanium C++ ABI mangles them). Those of libstdc++
 * call malloc() and free(). Those of jemalloc and tcmalloc do not, so they can
 * be seen here only.
 *
 * This file is compiled with unwind tables: the real operator new throws
 * std::bad_alloc through these functions.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "preload/alloc/alloc.h"
#include "preload/alloc/alloc_wrap.h"
#include "preload/core/find_next.h"

/* The real operator @name; it is found when it is first called and kept in
 * @real, as a library that the program opens may bring the first C++ runtime.
 * Where there is none, the caller has brought a runtime that we do not see:
 * @otherwise will do. */
static void *find_operator(void **real, const char *name, void *otherwise)
{
	/* relaxed: whoever finds it finds the same */
	void *function = atom_load_rlx(real);

	if (unlikely(!function)) {
		function = find_next(name);
		if (!function)
			function = otherwise;
		/* relaxed: as above */
		atom_store_rlx(real, function);
	}
	return function;
}

/* In place of an aligned operator new that is nowhere to be found. */
static void *new_aligned(size_t size, size_t alignment)
{
	return aligned_alloc(alignment, size);
}

#define REAL(mangled, otherwise)                                            \
	static void *real_;                                                 \
	__typeof__(&wrap_##mangled) real = (__typeof__(real))find_operator( \
		&real_, #mangled, (void *)(uintptr_t)(otherwise))

#define NEW(mangled, otherwise, is_aligned, parameters, arguments)      \
	ATTR_EXPORT void *wrap_##mangled parameters __asm__(#mangled);  \
	void *wrap_##mangled parameters                                 \
	{                                                               \
		uint32_t mode = alloc_mode();                           \
		uint64_t told;                                          \
		REAL(mangled, otherwise);                               \
                                                                        \
		if (likely(!mode))                                      \
			return real arguments;                          \
		told = t_alloc.told;                                    \
		if (is_aligned)                                         \
			t_alloc.asked = size | ASKED;                   \
		return wrap_allocated(mode, real arguments, size, told, \
				      WRAP_CALLER, WRAP_CFA);           \
	}

#define DELETE(mangled, parameters, arguments)                        \
	ATTR_EXPORT void wrap_##mangled parameters __asm__(#mangled); \
	void wrap_##mangled parameters                                \
	{                                                             \
		uint32_t mode = alloc_mode();                         \
		const void *outer;                                    \
		REAL(mangled, free);                                  \
                                                                      \
		if (likely(!mode) || unlikely(!block)) {              \
			real arguments;                               \
			return;                                       \
		}                                                     \
		outer = wrap_freeing(mode, block, WRAP_CALLER);       \
		real arguments;                                       \
		wrap_freed(outer);                                    \
	}

/* clang-format off */
NEW(_Znwm, malloc, false, (size_t size), (size))
NEW(_Znam, malloc, false, (size_t size), (size))
NEW(_ZnwmRKSt9nothrow_t, malloc, false, (size_t size, const void *tag), (size, tag))
NEW(_ZnamRKSt9nothrow_t, malloc, false, (size_t size, const void *tag), (size, tag))
NEW(_ZnwmSt11align_val_t, new_aligned, true, (size_t size, size_t alignment), (size, alignment))
NEW(_ZnamSt11align_val_t, new_aligned, true, (size_t size, size_t alignment), (size, alignment))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, new_aligned, true,
    (size_t size, size_t alignment, const void *tag), (size, alignment, tag))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, new_aligned, true,
    (size_t size, size_t alignment, const void *tag), (size, alignment, tag))

DELETE(_ZdlPv, (void *block), (block))
DELETE(_ZdaPv, (void *block), (block))
DELETE(_ZdlPvm, (void *block, size_t size), (block, size))
DELETE(_ZdaPvm, (void *block, size_t size), (block, size))
DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))
DELETE(_ZdlPvSt11align_val_t, (void *block, size_t alignment),
       (block, alignment))
DELETE(_ZdaPvSt11align_val_t, (void *block, size_t alignment),
       (block, alignment))
DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t alignment),
       (block, size, alignment))
DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t alignment),
       (block, size, alignment))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t,
       (void *block, size_t alignment, const void *tag),
       (block, alignment, tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t,
       (void *block, size_t alignment, const void *tag),
       (block, alignment, tag))
/* clang-format on */
