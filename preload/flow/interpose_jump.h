/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_jump - the functions by which control goes elsewhere than by call
 * and return. Also for assembly.
 */
#ifndef PERFREC_PRELOAD_FLOW_INTERPOSE_JUMP_H
#define PERFREC_PRELOAD_FLOW_INTERPOSE_JUMP_H

/*
 * X(function, what records it): each is a wrapper in interpose_jump_*.S which
 * lets C record the call, if anything is being recorded, and then jumps to the
 * real function with registers and stack as they were.
 */
#define JUMP_WRAPPED(X)                              \
	X(setjmp, interpose_jump_set)                \
	X(_setjmp, interpose_jump_set)               \
	X(__sigsetjmp, interpose_jump_set)           \
	X(longjmp, interpose_jump_long)              \
	X(_longjmp, interpose_jump_long)             \
	X(siglongjmp, interpose_jump_long)           \
	X(__longjmp_chk, interpose_jump_long)        \
	X(getcontext, interpose_jump_save_context)   \
	X(setcontext, interpose_jump_switch_context) \
	X(swapcontext, interpose_jump_swap_context)

/* All whose real ones are found; makecontext() is in context_end_*.S. */
#define JUMP_FUNCTIONS(X) \
	JUMP_WRAPPED(X)   \
	X(makecontext, context_end_made)

/* A hook's stack pointer is this much below the one where it was called. */
#if defined(__x86_64__)
#define JUMP_HOOK_DEPTH 8
#else
#define JUMP_HOOK_DEPTH 0
#endif

#if !defined(__ASSEMBLER__)
#include <stdint.h>

#include "shared/record.h"

/* The real functions: g_real_setjmp, ... Until ours has been called, or the
 * constructor, what finds them all and then jumps to the one. */
#define JUMP_DECLARE_REAL(function, record) extern void *g_real_##function;
JUMP_FUNCTIONS(JUMP_DECLARE_REAL)
#undef JUMP_DECLARE_REAL

/* Record what @flow, @address and @sp say, if the thread is recording. Any
 * context. */
void interpose_jump_put(enum record_flow flow, uintptr_t address, uintptr_t sp);

/* Finds them. Any context, but not the first time in a signal handler. */
void interpose_jump_find(void);

/*
 * The recorders: @first and @second are the function's arguments, @sp what a
 * hook would have called there. Any context; only while the gate is open.
 */
void interpose_jump_set(const void *first, const void *second, uintptr_t sp);
void interpose_jump_long(const void *first, const void *second, uintptr_t sp);
void interpose_jump_save_context(const void *first, const void *second,
				 uintptr_t sp);
void interpose_jump_switch_context(const void *first, const void *second,
				   uintptr_t sp);
void interpose_jump_swap_context(const void *first, const void *second,
				 uintptr_t sp);

#if defined(__aarch64__)
/* What the C library hides stack pointers in a jmp_buf with. */
uint64_t interpose_jump_guard(void);
#endif

/*
 * __cxa_begin_catch() and _Unwind_SetIP(@context, ...) were called from
 * @return_address: records it if the thread is recording. Returns the real
 * function. Any context.
 */
void *interpose_jump_begin_catch(const void *return_address, uintptr_t sp);
void *interpose_jump_set_ip(const void *return_address, const void *context,
			    uintptr_t sp);

/* The thread's function is over, its thread-specific data's destructors are
 * about to run. That thread. */
void interpose_jump_thread_left(void);
#endif

#endif
