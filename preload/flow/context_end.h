/* SPDX-License-Identifier: Apache-2.0
 *
 * context_end - makecontext(), and the end of a context. When the function of a
 * context returns, libc goes on in uc_link, and calls nothing that could be
 * interposed. So the shim replaces the address to which the function returns,
 * in each context that is made. Assembly includes this header, too.
 */
#ifndef PERFREC_PRELOAD_FLOW_CONTEXT_END_H
#define PERFREC_PRELOAD_FLOW_CONTEXT_END_H

#if !defined(__ASSEMBLER__)
#include <stdint.h>
#include <ucontext.h>

/*
 * makecontext() has filled in @context; a hook in the place of the call would
 * have had the stack pointer @sp. Replace the return address, if that can be
 * done, and record what was made, if this thread is recording. Any context.
 */
void context_end_made(ucontext_t *context, uintptr_t sp);

/*
 * The function of a context has returned; @link (uc_link) is next or, if that
 * is 0, exit(). Record that. The trampoline calls this on the context's stack,
 * while the gate is open.
 */
void context_end_reached(uintptr_t link, uintptr_t sp);

/* The trampoline, to which a context's function returns (context_end_*.S).
 * Nobody calls it. */
extern const char context_end_trampoline[];
#endif

#endif
