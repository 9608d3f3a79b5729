/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_thread_x86_64 - void *interpose_thread_start(void *handover): calls
 * interpose_thread_begins(), then jumps to the returned function (rax) with its
 * argument (rdx).
 */
	.text
	.globl	interpose_thread_start
	.hidden	interpose_thread_start
	.type	interpose_thread_start, @function
	.balign	16
interpose_thread_start:
	.cfi_startproc
	endbr64
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	interpose_thread_begins
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	movq	%rdx, %rdi
	jmp	*%rax
	.cfi_endproc
	.size	interpose_thread_start, . - interpose_thread_start

	.section .note.GNU-stack, "", @progbits
