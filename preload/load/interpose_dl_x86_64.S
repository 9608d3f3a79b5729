/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_dl_x86_64 - functions that use their return address: call C, then
 * jump to the real function with the caller's registers and return address
 * (interpose_dl.c).
 */
	.macro	tail_jump name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	call	interpose_\name
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
	tail_jump dlopen
	tail_jump dlmopen
	tail_jump dlsym
	tail_jump dlvsym
	tail_jump dl_iterate_phdr

	.section .note.GNU-stack, "", @progbits
