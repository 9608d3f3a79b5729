/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_jump_aarch64 - interpose_jump_x86_64.S for arm64.
 */
#include "preload/flow/interpose_jump.h"
#include "preload/core/thread_asm.h"

	/* x30 is the caller's return address. */
	.macro save_arguments
	stp	x0, x1, [sp, #-80]!
	.cfi_adjust_cfa_offset 80
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	str	x30, [sp, #64]
	.cfi_rel_offset x30, 64
	.endm

	.macro restore_arguments
	ldr	x30, [sp, #64]
	.cfi_restore x30
	ldp	x6, x7, [sp, #48]
	ldp	x4, x5, [sp, #32]
	ldp	x2, x3, [sp, #16]
	ldp	x0, x1, [sp], #80
	.cfi_adjust_cfa_offset -80
	.endm

	.macro jump_real function
	adrp	x16, g_real_\function
	ldr	x16, [x16, #:lo12:g_real_\function]
	br	x16
	.endm

	.macro wrap function, record
	.globl	\function
	.type	\function, %function
	.balign	16
\function:
	.cfi_startproc
	hint	#34			/* bti c */
	adrp	x16, g_gate
	ldr	w16, [x16, #:lo12:g_gate]
	cmp	w16, #GATE_EPOCH_STEP
	b.hs	.Lrecord_\function
.Lreal_\function:
	jump_real \function
.Lrecord_\function:
	save_arguments
	add	x2, sp, #80
	bl	\record
	restore_arguments
	b	.Lreal_\function
	.cfi_endproc
	.size	\function, . - \function
	.endm

	.macro find function
	.type	find_\function, %function
	.balign	16
find_\function:
	.cfi_startproc
	hint	#34
	save_arguments
	bl	interpose_jump_find
	restore_arguments
	jump_real \function
	.cfi_endproc
	.size	find_\function, . - find_\function

	.pushsection .data.interpose_jump, "aw"
	.balign	8
	.globl	g_real_\function
	.hidden	g_real_\function
g_real_\function:
	.quad	find_\function
	.popsection
	.endm

	.text
#define WRAP(function, record) wrap function, record;
#define FIND(function, record) find function;
JUMP_WRAPPED(WRAP)
JUMP_FUNCTIONS(FIND)

/*
 * uint64_t interpose_jump_guard(void): returns the pointer guard, from a
 * jmp_buf that the real _setjmp() fills. JB_SP is 13.
 */
#define JMP_BUF_BYTES 320
	.globl	interpose_jump_guard
	.hidden	interpose_jump_guard
	.type	interpose_jump_guard, %function
	.balign	16
interpose_jump_guard:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_adjust_cfa_offset 16
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	sub	sp, sp, #JMP_BUF_BYTES
	.cfi_adjust_cfa_offset JMP_BUF_BYTES
	mov	x0, sp
	adrp	x16, g_real__setjmp
	ldr	x16, [x16, #:lo12:g_real__setjmp]
	blr	x16
	ldr	x0, [sp, #13 * 8]
	mov	x1, sp
	eor	x0, x0, x1
	add	sp, sp, #JMP_BUF_BYTES
	.cfi_adjust_cfa_offset -JMP_BUF_BYTES
	ldp	x29, x30, [sp], #16
	.cfi_adjust_cfa_offset -16
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	interpose_jump_guard, . - interpose_jump_guard

	.globl	__cxa_begin_catch
	.type	__cxa_begin_catch, %function
	.balign	16
__cxa_begin_catch:
	.cfi_startproc
	hint	#34
	stp	x0, x30, [sp, #-16]!
	.cfi_adjust_cfa_offset 16
	.cfi_rel_offset x30, 8
	mov	x0, x30
	add	x1, sp, #16
	bl	interpose_jump_begin_catch
	mov	x16, x0
	ldp	x0, x30, [sp], #16
	.cfi_adjust_cfa_offset -16
	.cfi_restore x30
	br	x16
	.cfi_endproc
	.size	__cxa_begin_catch, . - __cxa_begin_catch

	.globl	_Unwind_SetIP
	.type	_Unwind_SetIP, %function
	.balign	16
_Unwind_SetIP:
	.cfi_startproc
	hint	#34
	stp	x0, x1, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	str	x30, [sp, #16]
	.cfi_rel_offset x30, 16
	mov	x1, x0
	mov	x0, x30
	add	x2, sp, #32
	bl	interpose_jump_set_ip
	mov	x16, x0
	ldr	x30, [sp, #16]
	.cfi_restore x30
	ldp	x0, x1, [sp], #32
	.cfi_adjust_cfa_offset -32
	br	x16
	.cfi_endproc
	.size	_Unwind_SetIP, . - _Unwind_SetIP

	.section .note.GNU-stack, "", %progbits
