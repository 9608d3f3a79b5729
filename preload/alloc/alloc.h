/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc - the records of blocks of memory, whoever allocates them.
 *
 * The wrappers (interpose_alloc*.c) call the real function, and these functions
 * before or behind it. Interposed functions call each other, but only one
 * wrapper may record a block. The modules decide, not the block's address,
 * which a header changes.
 *
 * An operator new or delete whose module does not define malloc() is built on
 * malloc(), or is the program's own heap. Its wrapper records nothing.
 *
 * The module that does define malloc() is the allocator. The outermost wrapper
 * records a call into it. Meanwhile the allocator may call itself by public
 * names; these calls pass through (alloc_enter()).
 *
 * A signal handler or a callback of the program may allocate in between. The
 * caller is other code then, so its wrapper records.
 */
#ifndef PERFREC_PRELOAD_ALLOC_ALLOC_H
#define PERFREC_PRELOAD_ALLOC_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/core/thread_asm.h"
#include "preload/ring/put.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"

/* The size that the program gave an aligned operator new, which rounds it up.
 */
struct alloc_asked {
	uint64_t bytes;
	uintptr_t by; /* the operator's address; 0: none */
};

/* What a thread knows of its own allocations. */
struct alloc_thread {
	uintptr_t outer; /* while the allocator's function runs: the stack
			  * pointer where its wrapper was called, and bit 0
			  * for an operator; else 0 */
	struct alloc_asked asked; /* by the last that was called and has not
				   * returned */
	int64_t left; /* bytes up to the next sample point */
	uint32_t level; /* left was drawn for 2^level as many points */
	uint64_t random; /* 0: not seeded yet */
};

extern __thread struct alloc_thread t_alloc;

/* The registers of a wrapper's caller, as it will find them after the call. */
struct alloc_caller {
	uint64_t reg[RECORD_REGS];
};

/*
 * Fill @caller with what a wrapper's caller has in its registers:
 * @return_address is where the wrapper returns to, @cfa the stack pointer
 * there. This is inlined into the wrapper. The file of the wrapper is compiled
 * so that it does not use the registers that a function has to preserve
 * (Makefile, ALLOC_REGS_*): they still hold what the caller left there.
 */
static inline __attribute__((always_inline)) void alloc_caller_fill(
	struct alloc_caller *caller, const void *return_address, uintptr_t cfa)
{
	uint64_t *reg = caller->reg;

#if defined(__x86_64__)
	__asm__ volatile("movq %%rbx, 24(%0)\n\t"
			 "movq %%rbp, 48(%0)\n\t"
			 "movq %%r12, 96(%0)\n\t"
			 "movq %%r13, 104(%0)\n\t"
			 "movq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)"
			 :
			 : "r"(reg)
			 : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("stp x19, x20, [%0, #152]\n\t"
			 "stp x21, x22, [%0, #168]\n\t"
			 "stp x23, x24, [%0, #184]\n\t"
			 "stp x25, x26, [%0, #200]\n\t"
			 "stp x27, x28, [%0, #216]"
			 :
			 : "r"(reg)
			 : "memory");
	reg[RECORD_REG_FP] = *(const uint64_t *)__builtin_frame_address(0);
	reg[30] = (uintptr_t)return_address;
#endif
	reg[RECORD_REG_SP] = cfa;
	reg[RECORD_REG_IP] = (uintptr_t)return_address;
}

/* --- for wrappers, in any context in which a hook may run -------------------
 */

/*
 * Control goes on where the stack pointer is @sp. Functions of the allocator
 * that were called from there, or deeper, do not run any more.
 */
static inline void alloc_jumped(uintptr_t sp)
{
	if (unlikely(t_alloc.outer) && t_alloc.outer <= (sp | 1))
		t_alloc.outer = 0;
}

/* The slow halves of the inline functions below. */
void alloc_put(const void *block, uint64_t size, const void *caller);
void alloc_put_free(const void *block, const void *caller);
/* EXACT, of a heap of the program's own that @site names. */
void alloc_put_report(uint32_t site, const void *block, uint64_t size,
		      const void *caller);
void alloc_put_report_free(uint32_t site, const void *block,
			   const void *caller);

/* EXACT: record that @block, which is not NULL, was allocated. @caller is an
 * address in the program. */
static inline void alloc_exact(const void *block, uint64_t size,
			       const void *caller)
{
	uint64_t address = (uintptr_t)block;

	if (likely(record_alloc_fits(address, size)) &&
	    likely(put_cell(record_alloc_word(RECORD_ALLOC, address, size),
			    T_LIMIT_BEGIN)))
		return;
	alloc_put(block, size, caller);
}

/* EXACT: record that @block, which is not NULL, is about to be freed. */
static inline void alloc_exact_free(const void *block, const void *caller)
{
	uint64_t address = (uintptr_t)block;

	if (likely(record_alloc_fits(address, 0)) &&
	    likely(put_cell(record_alloc_word(RECORD_FREE, address, 0),
			    T_LIMIT_BEGIN)))
		return;
	alloc_put_free(block, caller);
}

/* EXACT: record that realloc() has moved @old to @block, of @size bytes;
 * neither is NULL. @before is the clock before the call. */
void alloc_exact_realloc(const void *old, uint64_t before, const void *block,
			 uint64_t size, const void *caller);

#endif
