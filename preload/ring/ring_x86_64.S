/* SPDX-License-Identifier: Apache-2.0
 *
 * ring_x86_64 - put_cell() and put_cells() (put.h), the fast path of records
 * that are no spans. As in hook_x86_64.S, one restartable sequence extends from
 * the load of the gate to the store of head. The arguments belong to the caller
 * and do not change, so the sequence can start over.
 */
#include "preload/core/thread_asm.h"

	/* struct rseq_cs (linux/rseq.h): version, flags, start, length,
	 * abort */
	.macro describe_sequence name
	.pushsection .data.rel.ro, "aw"
	.balign	32
.Lsequence_\name:
	.long	0, 0
	.quad	.Lstart_\name, .Lcommit_\name - .Lstart_\name, .Labort_\name
	.popsection
	.endm

	/* rcx is the offset of t_thread throughout. @ignored: bits of the gate
	 * to ignore. */
	.macro begin_sequence name, ignored=0
.Lrestart_\name:
	movq	t_thread@gottpoff(%rip), %rcx
	movq	g_rseq_cs(%rip), %rdx
	leaq	.Lsequence_\name(%rip), %rax
	movq	%rax, %fs:(%rcx, %rdx)
.Lstart_\name:
	movq	g_gate(%rip), %rax
	xorq	%fs:T_EPOCH(%rcx), %rax
	.if	\ignored
	andq	$~\ignored, %rax
	.endif
	cmpq	$GATE_FILTER, %rax	/* 0, or this: a filter of functions */
	ja	.Lnot_\name
	movq	%fs:T_SLOT(%rcx), %r8
	movq	(%r8), %r9		/* head: only this thread writes it */
	.endm

	.macro return pushed
	.cfi_remember_state
	.rept	\pushed
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.endr
	.cfi_restore %rbx
	ret
	.cfi_restore_state
	.endm

	/* r9 is the new head, r8 the slot. */
	.macro commit_sequence name, pushed=0
	/* order: rel, HEAD: x86 keeps the cells' stores before this one */
	movq	%r9, (%r8)
.Lcommit_\name:
	movl	$1, %eax
	return	\pushed
.Lnot_\name:
	xorl	%eax, %eax
	return	\pushed
	.long	RSEQ_SIGNATURE
.Labort_\name:
	movq	t_thread@gottpoff(%rip), %rcx
	incl	%fs:T_ABORTS(%rcx)
	cmpl	$ABORTS_MAX, %fs:T_ABORTS(%rcx)
	jb	.Lrestart_\name
	jmp	.Lnot_\name
	describe_sequence \name
	.endm

	.macro read_clock
	rdtsc
	shlq	$32, %rdx
	orq	%rdx, %rax
	.endm

	.text

/* bool put_cell(uint64_t word, uint64_t limit) */
	.globl	put_cell
	.hidden	put_cell
	.type	put_cell, @function
	.balign	64
put_cell:
	.cfi_startproc
	endbr64
	begin_sequence cell
	cmpq	%fs:(%rcx, %rsi), %r9
	jae	.Lnot_cell
	movq	%fs:T_MASK(%rcx), %r10
	andq	%r9, %r10
	shlq	$4, %r10
	addq	%fs:T_CELLS(%rcx), %r10
	movq	%rdi, (%r10)
	read_clock
	movq	%rax, 8(%r10)
	incq	%r9
	commit_sequence cell
	.cfi_endproc
	.size	put_cell, . - put_cell

/* bool put_cells(const struct put_run *run, uint64_t limit)
 * r11 is the run, r10 the first cell, rax the cells of the EXT_PAD. */
	.macro put_cells_function name, ignored=0
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	endbr64
	movq	%rdi, %r11
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	begin_sequence \name, \ignored
	movq	(%rsp), %rbx		/* the limit's offset */
	movq	%fs:(%rcx, %rbx), %rbx
	movq	%fs:T_MASK(%rcx), %r10
	movq	%r10, %rdx
	andq	%r9, %r10
	subq	%r10, %rdx
	incq	%rdx			/* cells to the end of the ring */
	movq	RUN_COUNT(%r11), %rsi
	addq	RUN_BEHIND_CELLS(%r11), %rsi
	xorl	%eax, %eax
	cmpq	%rdx, %rsi
	cmovaq	%rdx, %rax
	addq	%rax, %rsi
	addq	%r9, %rsi		/* the new head */
	cmpq	%rbx, %rsi
	ja	.Lnot_\name
	shlq	$4, %r10
	movq	%fs:T_CELLS(%rcx), %rbx
	addq	%rbx, %r10
	movq	%rsi, %r9
	testq	%rax, %rax
	jz	1f
	movq	%rax, %rdx		/* record_ext_word(EXT_PAD, rax - 1) */
	decq	%rdx
	shlq	$EXT_CELLS_SHIFT, %rdx
	orq	$RECORD_KIND_EXT, %rdx
	movq	%rdx, (%r10)
	movq	%rbx, %rdi		/* the run is at the ring's start */
	jmp	2f
1:	movq	%r10, %rdi
2:	/* r10: the EXT_PAD or the run's first cell; rbx: the latter */
	movq	%rdi, %rbx
	movq	RUN_CELLS(%r11), %rsi
	movq	RUN_COUNT(%r11), %rcx
3:	movdqu	(%rsi), %xmm0
	movdqa	%xmm0, (%rdi)
	addq	$16, %rsi
	addq	$16, %rdi
	decq	%rcx
	jnz	3b
	movq	RUN_BEHIND_CELLS(%r11), %rcx
	testq	%rcx, %rcx
	jz	4f
	movq	RUN_BEHIND(%r11), %rsi
	shlq	%rcx
	rep movsq			/* may continue, or start over */
4:	movq	RUN_STAMP(%r11), %rcx
	shlq	$4, %rcx
	read_clock
	movq	%rax, 8(%r10)
	movq	%rax, 8(%rbx)
	movq	%rax, 8(%rbx, %rcx)
	commit_sequence \name, 2
	.cfi_endproc
	.size	\name, . - \name
	.endm

	put_cells_function put_cells
	put_cells_function put_cells_paused, GATE_GENERAL

	.section .note.GNU-stack, "", @progbits
