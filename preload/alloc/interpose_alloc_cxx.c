/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_alloc_cxx - wraps operator new and delete in all forms (C++20,
 * [new.delete]; names mangled by the Itanium C++ ABI). libstdc++'s operators
 * call each other, or the program's replacements, and at last malloc() and
 * free(), whose wrappers record the block. The operators of jemalloc and
 * tcmalloc call neither, so their wrappers record.
 *
 * Compiled with unwind tables: the real operator new throws std::bad_alloc
 * through these functions.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "preload/alloc/alloc.h"
#include "preload/alloc/alloc_wrap.h"
#include "preload/core/elf_tables.h"
#include "preload/core/find_next.h"

/* The real operator, found at its first call. */
struct real_operator {
	void *function; /* NULL: not found yet */
	bool is_allocator; /* its module also defines malloc() */
	bool rounds; /* it rounds up the size for aligned_alloc() */
};

/* Finds an operator when it is called, because a library opened later may bring
 * the first C++ runtime. If none is visible, the caller has a private runtime,
 * and @otherwise is used. */
static void find_operator(struct real_operator *real, const char *name,
			  void *otherwise)
{
	const struct link_map *map;
	void *function = find_behind(name, &map);
	struct elf_tables tables;

	if (map) {
		elf_tables_of(&tables, map);
		real->is_allocator = !alloc_sees_malloc() ||
				     elf_tables_find(&tables, "malloc");
		real->rounds =
			elf_tables_find(&tables, "_ZSt15get_new_handlerv");
	}
	/* order: rel, OPERATOR: all threads find the same */
	atom_store_rel(&real->function, function ? function : otherwise);
}

/* Returns true if aligned_alloc() records a size that @real has rounded. */
static bool is_rounding(const struct real_operator *real)
{
	/* relaxed: recording may start late in other threads */
	uint32_t mode = atom_load_rlx(&g_alloc_mode);

	return real->rounds && mode && mode != ALLOC_UNDECIDED;
}

/* Sets the size for the aligned operator new @by. Returns the old state,
 * because a signal handler may call an operator while another one runs. */
static struct alloc_asked ask(uint64_t bytes, uintptr_t by)
{
	struct alloc_asked last = t_alloc.asked;

	t_alloc.asked = (struct alloc_asked){ bytes, by };
	return last;
}

/* Replaces an aligned operator new that no runtime has. */
static void *new_aligned(size_t size, size_t alignment)
{
	return aligned_alloc(alignment, size);
}

#define REAL(mangled, otherwise)                               \
	static struct real_operator real_;                     \
	__typeof__(&wrap_##mangled) real;                      \
                                                               \
	/* order: acq, OPERATOR */                             \
	if (unlikely(!atom_load_acq(&real_.function)))         \
		find_operator(&real_, #mangled,                \
			      (void *)(uintptr_t)(otherwise)); \
	real = (__typeof__(real))real_.function

#define NEW(mangled, otherwise, is_aligned, parameters, arguments)           \
	ATTR_EXPORT void *wrap_##mangled parameters __asm__(#mangled);       \
	void *wrap_##mangled parameters                                      \
	{                                                                    \
		uintptr_t outer;                                             \
		uint32_t mode;                                               \
		struct alloc_asked last;                                     \
		void *block;                                                 \
		REAL(mangled, otherwise);                                    \
                                                                             \
		if (likely(!real_.is_allocator)) {                           \
			if (!(is_aligned) || !is_rounding(&real_))           \
				return real arguments;                       \
			last = ask(size, (uintptr_t)real);                   \
			block = real arguments;                              \
			ask(last.bytes, last.by);                            \
			return block;                                        \
		}                                                            \
		mode = wrap_enter(false, &outer);                            \
		if (likely(!mode))                                           \
			return real arguments;                               \
		block = real arguments;                                      \
		return wrap_allocated(wrap_leave(mode, &outer), block, size, \
				      WRAP_CALLER, WRAP_CFA);                \
	}

#define DELETE(mangled, parameters, arguments)                        \
	ATTR_EXPORT void wrap_##mangled parameters __asm__(#mangled); \
	void wrap_##mangled parameters                                \
	{                                                             \
		uintptr_t outer;                                      \
		uint32_t mode;                                        \
		REAL(mangled, free);                                  \
                                                                      \
		if (likely(!real_.is_allocator)) {                    \
			real arguments;                               \
			return;                                       \
		}                                                     \
		mode = wrap_enter(false, &outer);                     \
		if (mode)                                             \
			wrap_free(mode, block, WRAP_CALLER);          \
		real arguments;                                       \
		wrap_leave(mode, &outer);                             \
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
