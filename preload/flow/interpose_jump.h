/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_jump - the functions by which control goes by other means than call
 * and return. Assembly includes this header, too.
 */
#ifndef PERFREC_PRELOAD_FLOW_INTERPOSE_JUMP_H
#define PERFREC_PRELOAD_FLOW_INTERPOSE_JUMP_H

/*
 * X(function, recorder): each has a wrapper in interpose_jump_*.S. If anything
 * is being recorded the wrapper calls the recorder. Then it jumps to the real
 * function with registers and stack as they were.
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

/* All functions whose real ones are found. The wrapper of makecontext() is in
 * context_end_*.S. */
#define JUMP_FUNCTIONS(X) \
	JUMP_WRAPPED(X)   \
	X(makecontext, context_end_made)

/* A hook's stack pointer lies so many bytes below that of its caller. */
#if defined(__x86_64__)
#define JUMP_HOOK_DEPTH 8
#else
#define JUMP_HOOK_DEPTH 0
#endif

#if !defined(__ASSEMBLER__)
#include <stdint.h>

#include "shared/record.h"

/* The real functions: g_real_setjmp, ... Until they are found, each is code
 * that finds all of them, and then jumps to the real one. */
#define JUMP_DECLARE_REAL(function, record) extern void *g_real_##function;
JUMP_FUNCTIONS(JUMP_DECLARE_REAL)
#undef JUMP_DECLARE_REAL

/* Put the FLOW record of @flow, @address and @sp (record.h), if this thread is
 * recording. Any context. */
void interpose_jump_put(enum record_flow flow, uintptr_t address, uintptr_t sp);

/* Find the real functions. Any context, but not the first time in a signal
 * handler.
 */
void interpose_jump_find(void);

/*
 * The recorders. @first and @second are the function's arguments, @sp is the
 * stack pointer that a hook would have in the place of the call. Any context,
 * while the gate is open.
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
/* The number with which the C library hides stack pointers in a jmp_buf. */
uint64_t interpose_jump_guard(void);
#endif

/*
 * __cxa_begin_catch(), or _Unwind_SetIP(@context, ...), is called from
 * @return_address: record that, if this thread is recording. @sp is as above.
 * Returns the real function, which depends on the caller. Any context.
 */
void *interpose_jump_begin_catch(const void *return_address, uintptr_t sp);
void *interpose_jump_set_ip(const void *return_address, const void *context,
			    uintptr_t sp);

/* This thread's function is over, and destructors of its thread-specific data
 * are about to run: record that. */
void interpose_jump_thread_left(void);
#endif

#endif
