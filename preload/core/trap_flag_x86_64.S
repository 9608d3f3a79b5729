/* SPDX-License-Identifier: Apache-2.0
 *
 * trap_flag_x86_64 - trap_flag.h for x86-64. Only popfq changes the flag. If it
 * is set, the instruction after popfq traps.
 */
#define TRAP_FLAG 0x100

	.macro push_flags
	pushfq
	.cfi_adjust_cfa_offset 8
	.endm

	.macro pop_flags
	popfq
	.cfi_adjust_cfa_offset -8
	.endm

	.text

/* uint64_t trap_flag_clear(void) */
	.globl	trap_flag_clear
	.hidden	trap_flag_clear
	.type	trap_flag_clear, @function
	.balign	16
trap_flag_clear:
	.cfi_startproc
	endbr64
	push_flags
	popq	%rax
	.cfi_adjust_cfa_offset -8
	andl	$TRAP_FLAG, %eax
	jz	.Lclear
	push_flags
	andq	$~TRAP_FLAG, (%rsp)
	pop_flags
.Lclear:
	ret
	.cfi_endproc
	.size	trap_flag_clear, . - trap_flag_clear

/* void trap_flag_set(uint64_t flag). With 0 it pushes no flags, which could
 * contain a debugger's trap flag. */
	.globl	trap_flag_set
	.hidden	trap_flag_set
	.type	trap_flag_set, @function
	.balign	16
trap_flag_set:
	.cfi_startproc
	endbr64
	testq	%rdi, %rdi
	jz	.Lset
	push_flags
	orq	%rdi, (%rsp)
	pop_flags
.Lset:	ret
	.cfi_endproc
	.size	trap_flag_set, . - trap_flag_set

	.section .note.GNU-stack, "", @progbits
