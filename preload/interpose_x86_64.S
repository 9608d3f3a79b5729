/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_x86_64 - the two interposed functions that C cannot wrap, because
 * they may return twice on one stack: vfork(), and syscall(), which may be a
 * vfork or a clone.
 */
#include <sys/syscall.h>

	.text

/*
 * pid_t vfork(void). The child returns first, on the parent's stack, and may
 * overwrite the return address; so that waits in a register, as in libc's
 * own. The child leaves the thread marked in_vfork, the parent unmarks it.
 */
	.globl	vfork
	.type	vfork, @function
	.balign	16
vfork:
	endbr64
	subq	$8, %rsp
	call	interpose_vfork_begin
	addq	$8, %rsp
	popq	%rdi
	movl	$SYS_vfork, %eax
	syscall
	pushq	%rdi
	testq	%rax, %rax
	jz	.Lchild
	subq	$8, %rsp
	pushq	%rax
	subq	$8, %rsp
	call	interpose_vfork_end
	addq	$8, %rsp
	popq	%rax
	addq	$8, %rsp
	cmpq	$-4095, %rax
	jae	.Lfailed
.Lchild:
	ret
.Lfailed:
	movl	%eax, %edi
	negl	%edi
	jmp	interpose_error
	.size	vfork, . - vfork

/*
 * long syscall(long number, ...): show it to C if it may be one that matters,
 * then jump to the real one with everything as it was.
 */
	.globl	syscall
	.type	syscall, @function
	.balign	16
syscall:
	endbr64
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	subq	$8, %rsp
	cmpq	$SYS_seccomp, %rdi
	je	.Lmatters
	cmpq	$SYS_prctl, %rdi
	jne	.Lreal
.Lmatters:
	call	interpose_syscall
.Lreal:
	call	interpose_real_syscall
	movq	%rax, %r11
	addq	$8, %rsp
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	jmp	*%r11
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
