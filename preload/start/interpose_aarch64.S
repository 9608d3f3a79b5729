/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_aarch64 - interpose_x86_64.S for arm64: vfork() and syscall().
 */
#include <sys/syscall.h>

#define CLONE_VM_VFORK_SIGCHLD 0x4111

	.text

	/* The return address stays in x30: the child cannot overwrite the
	 * parent's registers. */
	.globl	vfork
	.type	vfork, %function
	.balign	16
vfork:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_adjust_cfa_offset 16
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	bl	interpose_vfork_begin
	ldp	x29, x30, [sp], #16
	.cfi_adjust_cfa_offset -16
	.cfi_restore x29
	.cfi_restore x30
	mov	x0, #CLONE_VM_VFORK_SIGCHLD
	mov	x1, xzr
	mov	x8, #SYS_clone
	svc	#0
	cbz	x0, 1f
	stp	x0, x30, [sp, #-16]!
	.cfi_adjust_cfa_offset 16
	.cfi_rel_offset x30, 8
	bl	interpose_vfork_end
	ldp	x0, x30, [sp], #16
	.cfi_adjust_cfa_offset -16
	.cfi_restore x30
	cmn	x0, #4095
	b.cs	2f
1:	ret
2:	neg	w0, w0
	b	interpose_error
	.cfi_endproc
	.size	vfork, . - vfork

	.globl	syscall
	.type	syscall, %function
	.balign	16
syscall:
	.cfi_startproc
	cmp	x0, #SYS_futex
	b.eq	interpose_futex
	stp	x0, x1, [sp, #-80]!
	.cfi_adjust_cfa_offset 80
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	str	x30, [sp, #64]
	.cfi_rel_offset x30, 64
	cmp	x0, #SYS_seccomp
	b.eq	1f
	cmp	x0, #SYS_prctl
	b.eq	1f
	cmp	x0, #SYS_exit
	b.eq	1f
	cmp	x0, #SYS_exit_group
	b.eq	1f
	cmp	x0, #SYS_execve
	b.eq	1f
	cmp	x0, #SYS_execveat
	b.ne	2f
1:	bl	interpose_syscall
2:	bl	interpose_real_syscall
	mov	x16, x0
	ldr	x30, [sp, #64]
	.cfi_restore x30
	ldp	x6, x7, [sp, #48]
	ldp	x4, x5, [sp, #32]
	ldp	x2, x3, [sp, #16]
	ldp	x0, x1, [sp], #80
	.cfi_adjust_cfa_offset -80
	br	x16
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", %progbits
