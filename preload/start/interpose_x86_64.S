/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_x86_64 - vfork(), and syscall(), which may be a vfork or a clone. C
 * cannot wrap them, because they may return twice on one stack.
 */
#include <sys/syscall.h>

	.macro push register
	pushq	\register
	.cfi_adjust_cfa_offset 8
	.endm

	.macro pop register
	popq	\register
	.cfi_adjust_cfa_offset -8
	.endm

	.macro lower bytes
	subq	$\bytes, %rsp
	.cfi_adjust_cfa_offset \bytes
	.endm

	.macro raise bytes
	addq	$\bytes, %rsp
	.cfi_adjust_cfa_offset -\bytes
	.endm

	.text

/* pid_t vfork(void). The child returns first, on the parent's stack, and may
 * overwrite the return address. So the address stays in a register, as in libc.
 * The child leaves the thread marked in_vfork, the parent unmarks it. */
	.globl	vfork
	.type	vfork, @function
	.balign	16
vfork:
	.cfi_startproc
	endbr64
	lower	8
	call	interpose_vfork_begin
	raise	8
	pop	%rdi
	.cfi_register %rip, %rdi
	movl	$SYS_vfork, %eax
	syscall
	push	%rdi
	.cfi_rel_offset %rip, 0
	testq	%rax, %rax
	jz	.Lchild
	lower	8
	push	%rax
	lower	8
	call	interpose_vfork_end
	raise	8
	pop	%rax
	raise	8
	cmpq	$-4095, %rax
	jae	.Lfailed
.Lchild:
	ret
.Lfailed:
	movl	%eax, %edi
	negl	%edi
	jmp	interpose_error
	.cfi_endproc
	.size	vfork, . - vfork

/* long syscall(long number, ...): passes relevant calls to C, then jumps to the
 * real function with all arguments in place. Only C calls the real function for
 * futexes. */
	.globl	syscall
	.type	syscall, @function
	.balign	16
syscall:
	.cfi_startproc
	endbr64
	cmpq	$SYS_futex, %rdi
	je	interpose_futex
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%r8
	push	%r9
	lower	8
	cmpq	$SYS_seccomp, %rdi
	je	.Lmatters
	cmpq	$SYS_prctl, %rdi
	je	.Lmatters
	cmpq	$SYS_exit, %rdi
	je	.Lmatters
	cmpq	$SYS_exit_group, %rdi
	je	.Lmatters
	cmpq	$SYS_execve, %rdi
	je	.Lmatters
	cmpq	$SYS_execveat, %rdi
	jne	.Lreal
.Lmatters:
	call	interpose_syscall
.Lreal:
	call	interpose_real_syscall
	movq	%rax, %r11
	raise	8
	pop	%r9
	pop	%r8
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
	jmp	*%r11
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
