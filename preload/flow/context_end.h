/* SPDX-License-Identifier: Apache-2.0
 *
 * context_end - wraps makecontext(), so that the end of a context is recorded.
 * When the function of a context returns, libc continues in uc_link and calls
 * no function that the shim could interpose. So the shim replaces the
 * function's return address in each new context. Assembly also includes this
 * header.
 */
#ifndef PERFREC_PRELOAD_FLOW_CONTEXT_END_H
#define PERFREC_PRELOAD_FLOW_CONTEXT_END_H

#if !defined(__ASSEMBLER__)
#include <stdint.h>
#include <ucontext.h>

/*
 * Replaces the return address in @context, which makecontext() has filled in,
 * and records the new context if this thread is recording. A context with an
 * unknown layout keeps its return address. @sp is the stack pointer that a hook
 * would have at the call of makecontext(). Callable from any context.
 */
void context_end_made(ucontext_t *context, uintptr_t sp);

/*
 * Records that the function of a context has returned. @link is its uc_link,
 * the next context, or 0 if exit() follows. Only the trampoline calls this, on
 * the context's stack, while the gate is open.
 */
void context_end_reached(uintptr_t link, uintptr_t sp);

/* The code that a context's function returns to (context_end_*.S). Never
 * called.
 */
extern const char context_end_trampoline[];
#endif

#endif
