/* SPDX-License-Identifier: Apache-2.0
 *
 * context_end_x86_64 - makecontext(), and the trampoline that a context's
 * function returns to (context_end.h).
 */
#include "preload/flow/context_end.h"
#include "preload/core/thread_asm.h"

	.text

/*
 * void makecontext(ucontext_t *context, void (*function)(void), int argc, ...):
 * calls the real one. The first three of the argc arguments are in registers;
 * the others are words on the stack, and are copied.
 */
	.globl	makecontext
	.type	makecontext, @function
	.balign	16
makecontext:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rdi
	pushq	%rdi			/* rsp is aligned to 16 for a call */
	cmpl	$3, %edx
	jle	.Lcall
	leal	-3(%rdx), %r10d
	leal	1(%r10), %r11d
	andl	$-2, %r11d
	shlq	$3, %r11
	subq	%r11, %rsp
.Lcopy:
	movq	8(%rbp, %r10, 8), %r11
	movq	%r11, -8(%rsp, %r10, 8)
	decl	%r10d
	jnz	.Lcopy
.Lcall:
	call	*g_real_makecontext(%rip)
	movq	-8(%rbp), %rdi
	leaq	8(%rbp), %rsi
	call	context_end_made
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size	makecontext, . - makecontext

/*
 * Here the function has returned: rsp is aligned to 16, rbx is the address of
 * uc_link. The word just below rsp is the used return address; it and the stack
 * above stay unchanged. Unwinding ends here as in libc's code. Unwinders look
 * up the byte before a return address, so a nop precedes the label.
 */
	.balign	16
	.type	trampoline, @function
trampoline:
	.cfi_startproc
	.cfi_undefined %rip
	nop
	.globl	context_end_trampoline
	.hidden	context_end_trampoline
context_end_trampoline:
	cmpl	$GATE_EPOCH_STEP, g_gate(%rip)
	jb	.Lgo_on
	movq	(%rbx), %rdi
	movq	%rsp, %rsi
	subq	$16, %rsp
	call	context_end_reached
	addq	$16, %rsp
.Lgo_on:
	jmp	*g_context_end(%rip)
	.cfi_endproc
	.size	trampoline, . - trampoline

	.section .note.GNU-stack, "", @progbits
