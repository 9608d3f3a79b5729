/* SPDX-License-Identifier: Apache-2.0
 *
 * context_end - when the function of a context returns, libc goes to uc_link
 * on its own and calls nothing that could be interposed. So the address that
 * the function returns to is replaced in each context that is made. Also for
 * assembly.
 */
#ifndef PERFREC_PRELOAD_FLOW_CONTEXT_END_H
#define PERFREC_PRELOAD_FLOW_CONTEXT_END_H

#if !defined(__ASSEMBLER__)
#include <stdint.h>
#include <ucontext.h>

/*
 * makecontext(@context) has been called where a hook would have had the stack
 * pointer @sp, and has filled it in: replaces the return address if it can,
 * and records what was made, if anything is being recorded. Any context.
 */
void context_end_made(ucontext_t *context, uintptr_t sp);

/*
 * The function of a context has returned, to go to @link or, if that is 0, to
 * exit(). Records it. On the context's stack, from the trampoline; only while
 * the gate is open.
 */
void context_end_reached(uintptr_t link, uintptr_t sp);

/* What a context's function returns to (context_end_*.S). Never called. */
extern const char context_end_trampoline[];
#endif

#endif
