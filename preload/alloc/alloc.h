/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc - records allocated and freed blocks of memory.
 *
 * The wrappers (interpose_alloc*.c) call the real function, and these functions
 * before or after it. Interposed functions call each other, but only one
 * wrapper may record a block. Their modules decide which; the block's address
 * cannot, because an allocator may put a header in front of the block.
 *
 * If the module of an operator new or delete does not define malloc(), the
 * operator uses malloc() or a heap of the program. Its wrapper records nothing.
 *
 * The module that defines malloc() is the allocator. The outermost wrapper
 * records a call into it. Meanwhile the allocator may call itself by public
 * names; these calls pass through (alloc_enter()).
 *
 * A signal handler or a callback of the program may allocate meanwhile. Its
 * wrapper records, because the caller is outside the allocator.
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

/* The size that an aligned operator new has rounded up. */
struct alloc_asked {
	uint64_t bytes;
	uintptr_t by; /* address of the operator; 0: none */
};

/* The allocation state of a thread. */
struct alloc_thread {
	uintptr_t outer; /* stack pointer at the call of the allocator's running
			  * wrapper, bit 0 for an operator; else 0 */
	struct alloc_asked asked; /* of the latest call that has not returned */
	int64_t left; /* bytes to the next sample point */
	uint32_t level; /* left was drawn for 2^level times as many points */
	uint64_t random; /* 0: unseeded */
};

extern __thread struct alloc_thread t_alloc;

/* A caller's registers, as they will be after the wrapper returns. */
struct alloc_caller {
	uint64_t reg[RECORD_REGS];
};

/*
 * Fills @caller with the registers of a wrapper's caller: @return_address is
 * where the wrapper returns to, @cfa the stack pointer there. Must be inlined
 * into the wrapper. Its file is compiled without the callee-saved registers
 * (Makefile, ALLOC_REGS_*), so they still have the caller's values.
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

/* --- for wrappers, in any context where a hook may run -------------------- */

/* Control continues at stack pointer @sp, so functions of the allocator called
 * there or deeper are gone. */
static inline void alloc_jumped(uintptr_t sp)
{
	if (unlikely(t_alloc.outer) && t_alloc.outer <= (sp | 1))
		t_alloc.outer = 0;
}

/* Slow paths of the inline functions below. */
void alloc_put(const void *block, uint64_t size, const void *caller);
void alloc_put_free(const void *block, const void *caller);
/* EXACT, for the program's own heap @site. */
void alloc_put_report(uint32_t site, const void *block, uint64_t size,
		      const void *caller);
void alloc_put_report_free(uint32_t site, const void *block,
			   const void *caller);

/* EXACT: records the allocation of @block, not NULL. */
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

/* EXACT: records that @block, not NULL, is about to be freed. */
static inline void alloc_exact_free(const void *block, const void *caller)
{
	uint64_t address = (uintptr_t)block;

	if (likely(record_alloc_fits(address, 0)) &&
	    likely(put_cell(record_alloc_word(RECORD_FREE, address, 0),
			    T_LIMIT_BEGIN)))
		return;
	alloc_put_free(block, caller);
}

/* EXACT: records that realloc() has moved @old to @block, of @size bytes;
 * neither is NULL. @before is the clock before the call. */
void alloc_exact_realloc(const void *old, uint64_t before, const void *block,
			 uint64_t size, const void *caller);

#endif
