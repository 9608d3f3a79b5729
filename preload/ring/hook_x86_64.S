/* SPDX-License-Identifier: Apache-2.0
 *
 * hook_x86_64 - __cyg_profile_func_enter and _exit, the fast path; and what the
 * thunks of entry builds jump to in their place (function_shm.h).
 *
 * One record is one restartable sequence (rseq(2), docs/RING.md): from the
 * look at the gate to the store of head nothing is visible, and the store of
 * head is its last instruction. The kernel sends a thread that it preempts or
 * signals inside to the abort handler, which starts over: with a new look at
 * the gate, since the handler may have forked, and a new clock.
 *
 * The code of the hooks uses no stack, so one unwind rule holds at each
 * instruction. It uses no registers that a function must save, but only rax rcx
 * rdx rsi rdi r8-r11. rdi (function) and rsi (call site) stay as they are until
 * the commit, for the restart and for hook_general().
 *
 * The two rdtsc are nearly all of a span's cost; everything here fits into
 * their shadow (docs/BENCHMARKS.md).
 *
 * An entry build calls where all registers but r11 are live, as they hold
 * arguments or results: also vector registers and those of the x87. The fast
 * path saves the seven that it uses. Where C is called, all are saved.
 */
#include "preload/core/thread_asm.h"

#define FILTER_MULTIPLIER 0x9e3779b97f4a7c15
#define KIND_BEGIN 1
#define KIND_END 2

	/* rcx is the offset of t_thread, and stays it. */
	.macro arm_sequence descriptor
	movq	g_rseq_cs(%rip), %rdx
	leaq	\descriptor(%rip), %rax
	movq	%rax, %fs:(%rcx, %rdx)
	.endm

	/* Record it; the last instruction commits. The stack pointer is that of
	 * the hook, or lies @above below what an entry build tells. */
	.macro put_record kind, limit, full, above
	movq	%fs:T_SLOT(%rcx), %r8
	movq	(%r8), %r9		/* head: only this thread writes it */
	cmpq	%fs:\limit(%rcx), %r9
	jae	\full
	movq	%fs:T_MASK(%rcx), %r10
	andq	%r9, %r10
	shlq	$4, %r10
	addq	%fs:T_CELLS(%rcx), %r10
	movq	%rdi, %r11		/* record.h: function, sp hint, kind */
	shlq	$16, %r11
	.ifb	\above
	movl	%esp, %eax
	.else
	leal	\above(%rsp), %eax
	.endif
	andl	$0xfff0, %eax
	leaq	\kind(%r11, %rax), %r11
	movq	%r11, (%r10)
	rdtsc
	shlq	$32, %rdx
	orq	%rdx, %rax
	movq	%rax, 8(%r10)
	incq	%r9
	/* order: rel, HEAD: x86 keeps the cell's stores before this one */
	movq	%r9, (%r8)
	.endm

	/* struct rseq_cs (linux/rseq.h): version, flags, start, length, abort */
	.macro describe_sequence descriptor, start, commit, abort
	.pushsection .data.rel.ro, "aw"
	.balign	32
\descriptor:
	.long	0, 0
	.quad	\start, \commit - \start, \abort
	.popsection
	.endm

	.macro abort_handler tag
	.long	RSEQ_SIGNATURE
.Labort_\tag:
	movq	t_thread@gottpoff(%rip), %rcx
	incl	%fs:T_ABORTS(%rcx)
	cmpl	$ABORTS_MAX, %fs:T_ABORTS(%rcx)
	jb	.Lrestart_\tag
	jmp	.Lgeneral_\tag
	.endm

	/* rdi is the function. Return by @leave. */
	.macro record_span tag, kind, limit, leave, above
.Lrestart_\tag:
	movq	t_thread@gottpoff(%rip), %rcx
	arm_sequence .Lplain_\tag
.Lplain_start_\tag:
	movq	g_gate(%rip), %rax
	cmpq	%fs:T_EPOCH(%rcx), %rax
	jne	.Lnot_plain_\tag
	put_record \kind, \limit, .Lgeneral_\tag, \above
.Lplain_commit_\tag:
	\leave

.Lnot_plain_\tag:
	cmpl	$GATE_OFF, %eax
	je	.Lreturn_\tag
	andl	$(GATE_FILTER | GATE_GENERAL), %eax
	cmpl	$GATE_FILTER, %eax
	jne	.Lgeneral_\tag
	/* An excluded function costs this probe, in a thread without a slot,
	 * too. From an entry that another function has taken, or had,
	 * hook_general() searches on. */
	movabsq	$FILTER_MULTIPLIER, %rax
	imulq	%rdi, %rax
	movl	g_filter+FILTER_SHIFT(%rip), %ecx
	shrq	%cl, %rax
	movq	g_filter+FILTER_TABLE(%rip), %rdx
	movq	(%rdx, %rax, 8), %rax
	cmpq	%rdi, %rax
	je	.Lexcluded_\tag
	testq	%rax, %rax
	jne	.Lgeneral_\tag
	movq	t_thread@gottpoff(%rip), %rcx
	arm_sequence .Lfiltered_\tag
.Lfiltered_start_\tag:
	movq	g_gate(%rip), %rax
	xorq	%fs:T_EPOCH(%rcx), %rax
	cmpq	$GATE_FILTER, %rax
	jne	.Lgeneral_\tag
	put_record \kind, \limit, .Lgeneral_\tag, \above
.Lfiltered_commit_\tag:
.Lreturn_\tag:
	\leave

	/* Counted, so that its cost is known; and its calls, if it has a
	 * number: cell 0 is nobody's. ecx is the shift. */
.Lexcluded_\tag:
	.if	\kind == KIND_BEGIN
	movabsq	$FILTER_MULTIPLIER, %rax
	imulq	%rdi, %rax
	shrq	%cl, %rax
	movq	g_filter+FILTER_NUMBERS(%rip), %rdx
	movzwl	(%rdx, %rax, 2), %edx
	.endif
	movq	t_thread@gottpoff(%rip), %rcx
	movq	%fs:T_EXCLUDED(%rcx), %rax
	testq	%rax, %rax
	jz	.Luncounted_\tag
	incq	(%rax)
	.if	\kind == KIND_BEGIN
	movl	g_gate+GATE_COUNT_EPOCH(%rip), %eax
	cmpl	%fs:T_EPOCH(%rcx), %eax
	jne	.Lno_counts_\tag
	cmpl	g_filter+FILTER_COUNT(%rip), %edx
	jae	.Lno_counts_\tag
	shll	$4, %edx
	addq	%fs:T_COUNTS(%rcx), %rdx
	incq	(%rdx)
.Lno_counts_\tag:
	.endif
	\leave

	describe_sequence .Lplain_\tag, .Lplain_start_\tag, \
		.Lplain_commit_\tag, .Labort_\tag
	describe_sequence .Lfiltered_\tag, .Lfiltered_start_\tag, \
		.Lfiltered_commit_\tag, .Labort_\tag
	.endm

/* --- hooks ---------------------------------------------------------------- */

	.macro leave_hook
	ret
	.endm

	.macro hook name, inner_name, tag, kind, limit, slow
	.globl	\name, \inner_name
	.hidden	\inner_name
	.type	\name, @function
	.balign	64
\name:
\inner_name:
	.cfi_startproc
	endbr64
	record_span \tag, \kind, \limit, leave_hook

.Luncounted_\tag:
	addw	$UNTOLD_ONE, %fs:T_UNTOLD(%rcx)
	jz	hook_tell_excluded
	ret

.Lgeneral_\tag:
	movq	%rsp, %rdx
	jmp	\slow

	abort_handler \tag
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
	hook	__cyg_profile_func_enter, hook_enter, enter, KIND_BEGIN, \
		T_LIMIT_BEGIN, hook_general_enter
	hook	__cyg_profile_func_exit, hook_exit, exit, KIND_END, \
		T_LIMIT_END, hook_general_exit

/* Of a function with a number (r11) in a thread that has no counts yet. */
	.globl	hook_enter_general
	.hidden	hook_enter_general
	.type	hook_enter_general, @function
	.balign	64
hook_enter_general:
	.cfi_startproc
	endbr64
	movl	%r11d, %esi
	movq	%rsp, %rdx
	jmp	hook_enter_numbered
	.cfi_endproc
	.size	hook_enter_general, . - hook_enter_general

/* --- entry builds ---------------------------------------------------------- */

	/* Save what the fast path uses; @below lies on the stack already, below
	 * the address to which this returns. */
	.macro	entry_begin name, below
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	.if	\below
	.cfi_adjust_cfa_offset \below
	.cfi_rel_offset %r11, 0
	.endif
	endbr64
	.irp	reg, rax, rcx, rdx, rdi, r8, r9, r10
	pushq	%\reg
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %\reg, 0
	.endr
	.endm
#define SAVED 56

	.macro	entry_leave
	.cfi_remember_state
	.irp	reg, r10, r9, r8, rdi, rdx, rcx, rax
	popq	%\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore %\reg
	.endr
	ret
	.cfi_restore_state
	.endm

	.macro	entry_leave_pushed
	.cfi_remember_state
	.irp	reg, r10, r9, r8, rdi, rdx, rcx, rax, r11
	popq	%\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore %\reg
	.endr
	ret
	.cfi_restore_state
	.endm

	/* Call C with all else saved: @slow(rdi, r11, where the return address
	 * of the function lies). @above: that over the stack pointer. */
	.macro	entry_general slow, leave, above
	.cfi_remember_state
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rsi, 0
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	/* What is in use takes room on a stack that may be small. Zeros are
	 * not in use, and xrstor makes zeros of what was not. */
	movl	g_vector_state+VECTOR_MASK(%rip), %eax
	movl	g_vector_state+VECTOR_TELLS(%rip), %ecx
	testl	%ecx, %ecx
	jz	5f
	movl	%eax, %r8d
	xgetbv				/* ecx is 1: what is in use */
	orl	$XSAVE_SSE, %eax
	andl	%r8d, %eax
5:	movl	$VECTOR_BYTES_SSE, %r8d
	testl	$XSAVE_AVX, %eax
	jz	6f
	movl	$VECTOR_BYTES_AVX, %r8d
6:	testl	$XSAVE_OPMASK, %eax
	jz	7f
	movl	$VECTOR_BYTES_OPMASK, %r8d
7:	testl	$XSAVE_ZMM, %eax
	jz	8f
	movl	$VECTOR_BYTES_ZMM, %r8d
8:	subq	%r8, %rsp
	andq	$-64, %rsp
	testl	%eax, %eax
	jz	1f
	xorl	%edx, %edx
	.irp	at, 512, 520, 528, 536, 544, 552, 560, 568
	movq	%rdx, \at(%rsp)
	.endr
	xsave64	(%rsp)
	jmp	2f
1:	fxsave64 (%rsp)
2:	movl	%r11d, %esi
	leaq	(\above + 16)(%rbp), %rdx
	call	\slow
	movl	g_vector_state+VECTOR_MASK(%rip), %eax
	testl	%eax, %eax
	jz	3f
	xorl	%edx, %edx
	xrstor64 (%rsp)
	jmp	4f
3:	fxrstor64 (%rsp)
4:	movq	%rbp, %rsp
	.cfi_def_cfa_register %rsp
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rsi
	\leave
	.cfi_restore_state
	.endm

	.macro	entry_hook name, tag, kind, limit, slow, leave, below
	entry_begin \name, \below
	movq	%r11, %rdi
	record_span \tag, \kind, \limit, \leave, SAVED + 8 + \below
.Luncounted_\tag:
.Lgeneral_\tag:
	entry_general \slow, \leave, SAVED + 8 + \below
	abort_handler \tag
	.cfi_endproc
	.size	\name, . - \name
	.endm

	entry_hook hook_entry_enter, entry_enter, KIND_BEGIN, T_LIMIT_BEGIN, \
		hook_entry_general_enter, entry_leave, 0
	entry_hook hook_entry_exit, entry_exit, KIND_END, T_LIMIT_END, \
		hook_entry_general_exit, entry_leave, 0
	/* r11 was pushed: it is given back. */
	entry_hook hook_entry_exit_pushed, entry_exit_pushed, KIND_END, \
		T_LIMIT_END, hook_entry_general_exit, entry_leave_pushed, 8

	/* r11 is the number. */
	entry_begin hook_entry_enter_general, 0
	xorl	%edi, %edi
	entry_general hook_enter_numbered, entry_leave, SAVED + 8
	.cfi_endproc
	.size	hook_entry_enter_general, . - hook_entry_enter_general

	.section .note.GNU-stack, "", @progbits
