/* SPDX-License-Identifier: Apache-2.0
 *
 * context_end_aarch64 - context_end_x86_64.S for arm64.
 */
#include "preload/flow/context_end.h"
#include "preload/core/thread_asm.h"

	.text

/* Five of the arguments are in registers. */
	.globl	makecontext
	.type	makecontext, %function
	.balign	16
makecontext:
	.cfi_startproc
	hint	#34			/* bti c */
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	mov	x29, sp
	.cfi_def_cfa_register x29
	str	x0, [sp, #16]
	subs	w9, w2, #5
	b.le	.Lcall
	add	w10, w9, #1
	and	w10, w10, #0xfffffffe
	sub	sp, sp, w10, uxtw #3
	add	x10, x29, #32
.Lcopy:
	sub	w9, w9, #1
	ldr	x11, [x10, w9, uxtw #3]
	str	x11, [sp, w9, uxtw #3]
	cbnz	w9, .Lcopy
.Lcall:
	adrp	x16, g_real_makecontext
	ldr	x16, [x16, #:lo12:g_real_makecontext]
	blr	x16
	mov	sp, x29
	ldr	x0, [sp, #16]
	add	x1, sp, #32
	bl	context_end_made
	ldp	x29, x30, [sp], #32
	.cfi_def_cfa sp, 0
	ret
	.cfi_endproc
	.size	makecontext, . - makecontext

/* x19 is uc_link. ret instead of br: the target has no landing pad (BTI) for
 * branches. */
	.balign	16
	.type	trampoline, %function
trampoline:
	.cfi_startproc
	.cfi_undefined x30
	nop
	.globl	context_end_trampoline
	.hidden	context_end_trampoline
context_end_trampoline:
	adrp	x16, g_gate
	ldr	w16, [x16, #:lo12:g_gate]
	cmp	w16, #GATE_EPOCH_STEP
	b.lo	.Lgo_on
	mov	x0, x19
	mov	x1, sp
	bl	context_end_reached
.Lgo_on:
	adrp	x30, g_context_end
	ldr	x30, [x30, #:lo12:g_context_end]
	ret
	.cfi_endproc
	.size	trampoline, . - trampoline

	.section .note.GNU-stack, "", %progbits
