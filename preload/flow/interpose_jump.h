/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_jump - wraps the functions that move control without call or
 * return: setjmp(), longjmp(), contexts, exceptions. Assembly also includes
 * this header.
 */
#ifndef PERFREC_PRELOAD_FLOW_INTERPOSE_JUMP_H
#define PERFREC_PRELOAD_FLOW_INTERPOSE_JUMP_H

/*
 * X(function, recorder): the functions with a wrapper in interpose_jump_*.S.
 * While the gate is open, the wrapper calls the recorder. Then it jumps to the
 * real function with unchanged registers and stack.
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

/* All functions with a g_real_ pointer. The wrapper of makecontext() is in
 * context_end_*.S. */
#define JUMP_FUNCTIONS(X) \
	JUMP_WRAPPED(X)   \
	X(makecontext, context_end_made)

/* Distance in bytes from a caller's stack pointer down to its hook's. */
#if defined(__x86_64__)
#define JUMP_HOOK_DEPTH 8
#else
#define JUMP_HOOK_DEPTH 0
#endif

#if !defined(__ASSEMBLER__)
#include <stdint.h>

#include "shared/record.h"

/* The real functions: g_real_setjmp, ... Each starts as the address of code
 * that calls interpose_jump_find() and then jumps to the real function. */
#define JUMP_DECLARE_REAL(function, record) extern void *g_real_##function;
JUMP_FUNCTIONS(JUMP_DECLARE_REAL)
#undef JUMP_DECLARE_REAL

/* Puts the FLOW record of @flow, @address and @sp (record.h) if this thread is
 * recording. Callable from any context. */
void interpose_jump_put(enum record_flow flow, uintptr_t address, uintptr_t sp);

/* Sets all g_real_ pointers. The first call must not be in a signal handler. */
void interpose_jump_find(void);

/*
 * The recorders. @first and @second are the wrapped function's arguments, @sp
 * is the stack pointer that a hook would have at the call. Only while the gate
 * is open; callable from any context.
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
/* Returns the C library's pointer guard: stack pointers in a jmp_buf are XORed
 * with it. */
uint64_t interpose_jump_guard(void);
#endif

/*
 * Record a call of __cxa_begin_catch(), or of _Unwind_SetIP(@context, ...), if
 * this thread is recording. The call returns to @return_address; @sp is as
 * above. Both return the real function, which depends on the caller. Callable
 * from any context.
 */
void *interpose_jump_begin_catch(const void *return_address, uintptr_t sp);
void *interpose_jump_set_ip(const void *return_address, const void *context,
			    uintptr_t sp);

/* Records that this thread's function is over. Must run before the destructors
 * of thread-specific data. */
void interpose_jump_thread_left(void);
#endif

#endif
