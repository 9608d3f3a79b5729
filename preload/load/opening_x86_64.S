/* SPDX-License-Identifier: Apache-2.0
 *
 * opening_x86_64 - void opening_entry(void): stands for _dl_debug_state()
 * (opening.c). It keeps all registers but those of vectors: the dynamic linker
 * was compiled together with that function.
 */
	.macro	save register
	pushq	\register
	.cfi_adjust_cfa_offset 8
	.endm
	.macro	restore register
	popq	\register
	.cfi_adjust_cfa_offset -8
	.endm

	.text
	.globl	opening_entry
	.hidden	opening_entry
	.type	opening_entry, @function
	.balign	16
opening_entry:
	.cfi_startproc
	save	%rax
	save	%rcx
	save	%rdx
	save	%rsi
	save	%rdi
	save	%r8
	save	%r9
	save	%r10
	save	%r11
	call	opening_notice
	restore	%r11
	restore	%r10
	restore	%r9
	restore	%r8
	restore	%rdi
	restore	%rsi
	restore	%rdx
	restore	%rcx
	restore	%rax
	ret
	.cfi_endproc
	.size	opening_entry, . - opening_entry

	.section .note.GNU-stack, "", @progbits
