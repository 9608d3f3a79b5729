/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_jump_x86_64 - wrappers of the functions that jump
 * (interpose_jump.h). A wrapper jumps to the real function, which must find its
 * caller's return address and stack. While the gate is closed, a wrapper costs
 * a load, a branch and a jump.
 */
#include "preload/flow/interpose_jump.h"
#include "preload/core/thread_asm.h"

	/* Seven words and the return address keep rsp aligned to 16 for a call.
	 * rax counts the vector registers of a variadic call; none of these
	 * functions has an argument in a vector register. */
	.macro save_arguments
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	.endm

	.macro restore_arguments
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	popq	%rax
	.cfi_adjust_cfa_offset -8
	.endm

	.macro wrap function, record
	.globl	\function
	.type	\function, @function
	.balign	16
\function:
	.cfi_startproc
	endbr64
	cmpl	$GATE_EPOCH_STEP, g_gate(%rip)
	jae	.Lrecord_\function
.Lreal_\function:
	jmp	*g_real_\function(%rip)
.Lrecord_\function:
	movq	%rsp, %r11
	save_arguments
	movq	%r11, %rdx
	call	\record
	restore_arguments
	jmp	.Lreal_\function
	.cfi_endproc
	.size	\function, . - \function
	.endm

	.macro find function
	.type	find_\function, @function
	.balign	16
find_\function:
	.cfi_startproc
	endbr64
	save_arguments
	call	interpose_jump_find
	restore_arguments
	jmp	*g_real_\function(%rip)
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
 * void *__cxa_begin_catch(void *exception) and void _Unwind_SetIP(struct
 * _Unwind_Context *context, _Unwind_Ptr ip): the real function depends on the
 * caller.
 */
	.globl	__cxa_begin_catch
	.type	__cxa_begin_catch, @function
	.balign	16
__cxa_begin_catch:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	movq	8(%rsp), %rdi
	leaq	8(%rsp), %rsi
	call	interpose_jump_begin_catch
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	__cxa_begin_catch, . - __cxa_begin_catch

	.globl	_Unwind_SetIP
	.type	_Unwind_SetIP, @function
	.balign	16
_Unwind_SetIP:
	.cfi_startproc
	endbr64
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	%rdi, %rsi
	movq	24(%rsp), %rdi
	leaq	24(%rsp), %rdx
	call	interpose_jump_set_ip
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	_Unwind_SetIP, . - _Unwind_SetIP

	.section .note.GNU-stack, "", @progbits
