/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_thread_aarch64 - interpose_thread_x86_64.S for arm64: the function
 * is in x0, its argument in x1.
 */
	.text
	.globl	interpose_thread_start
	.hidden	interpose_thread_start
	.type	interpose_thread_start, %function
	.balign	16
interpose_thread_start:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_adjust_cfa_offset 16
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	bl	interpose_thread_begins
	ldp	x29, x30, [sp], #16
	.cfi_adjust_cfa_offset -16
	.cfi_restore x29
	.cfi_restore x30
	mov	x16, x0
	mov	x0, x1
	br	x16
	.cfi_endproc
	.size	interpose_thread_start, . - interpose_thread_start

	.section .note.GNU-stack, "", @progbits
