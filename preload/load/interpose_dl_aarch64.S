/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_dl_aarch64 - interpose_dl_x86_64.S for arm64.
 */
	.macro	tail_jump name
	.globl	\name
	.type	\name, %function
	.balign	16
\name:
	.cfi_startproc
	stp	x0, x1, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	stp	x2, x30, [sp, #16]
	.cfi_rel_offset x30, 24
	bl	interpose_\name
	mov	x16, x0
	ldp	x2, x30, [sp, #16]
	.cfi_restore x30
	ldp	x0, x1, [sp], #32
	.cfi_adjust_cfa_offset -32
	br	x16
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
	tail_jump dlopen
	tail_jump dlmopen
	tail_jump dlsym
	tail_jump dlvsym
	tail_jump dl_iterate_phdr

	.section .note.GNU-stack, "", %progbits
