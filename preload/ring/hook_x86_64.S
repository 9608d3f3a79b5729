/* SPDX-License-Identifier: Apache-2.0
 *
 * hook_x86_64 - __cyg_profile_func_enter and _exit, the fast path.
 *
 * One record is one restartable sequence (rseq(2), docs/RING.md): from the
 * look at the gate to the store of head nothing is visible, and the store of
 * head is its last instruction. The kernel sends a thread that it preempts or
 * signals inside to the abort handler, which starts over: with a new look at
 * the gate, since the handler may have forked, and a new clock.
 *
 * The code uses no stack, so one unwind rule holds at each instruction. It uses
 * no registers that a function must save, but only rax rcx rdx rsi rdi r8-r11.
 * rdi (function) and rsi (call site) stay as they are until the commit, for the
 * restart and for hook_general().
 *
 * The two rdtsc are nearly all of a span's cost; everything here fits into
 * their shadow (docs/BENCHMARKS.md).
 */
#include "preload/core/thread_asm.h"

#define FILTER_MULTIPLIER 0x9e3779b97f4a7c15

	/* rcx is the offset of t_thread, and stays it. */
	.macro arm_sequence descriptor
	movq	g_rseq_cs(%rip), %rdx
	leaq	\descriptor(%rip), %rax
	movq	%rax, %fs:(%rcx, %rdx)
	.endm

	/* Record it; the last instruction commits. */
	.macro put_record kind, limit, full
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
	movl	%esp, %eax
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

	.macro abort_handler abort, restart, general
	.long	RSEQ_SIGNATURE
\abort:
	movq	t_thread@gottpoff(%rip), %rcx
	incl	%fs:T_ABORTS(%rcx)
	cmpl	$ABORTS_MAX, %fs:T_ABORTS(%rcx)
	jb	\restart
	jmp	\general
	.endm

	.macro hook name, kind, limit, slow
	.globl	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	endbr64
.Lrestart_\kind:
	movq	t_thread@gottpoff(%rip), %rcx
	arm_sequence .Lplain_\kind
.Lplain_start_\kind:
	movq	g_gate(%rip), %rax
	cmpq	%fs:T_EPOCH(%rcx), %rax
	jne	.Lnot_plain_\kind
	put_record \kind, \limit, .Lgeneral_\kind
.Lplain_commit_\kind:
	ret

.Lnot_plain_\kind:
	cmpl	$GATE_OFF, %eax
	je	.Lreturn_\kind
	andl	$(GATE_FILTER | GATE_GENERAL), %eax
	cmpl	$GATE_FILTER, %eax
	jne	.Lgeneral_\kind
	/* An excluded function costs this probe, in a thread without a slot,
	 * too. From an entry that another function has taken hook_general()
	 * searches on. */
	movabsq	$FILTER_MULTIPLIER, %rax
	imulq	%rdi, %rax
	movl	g_filter+FILTER_SHIFT(%rip), %ecx
	shrq	%cl, %rax
	movq	g_filter+FILTER_TABLE(%rip), %rdx
	movq	(%rdx, %rax, 8), %rax
	cmpq	%rdi, %rax
	je	.Lexcluded_\kind
	testq	%rax, %rax
	jne	.Lgeneral_\kind
	movq	t_thread@gottpoff(%rip), %rcx
	arm_sequence .Lfiltered_\kind
.Lfiltered_start_\kind:
	movq	g_gate(%rip), %rax
	xorq	%fs:T_EPOCH(%rcx), %rax
	cmpq	$GATE_FILTER, %rax
	jne	.Lgeneral_\kind
	put_record \kind, \limit, .Lgeneral_\kind
.Lfiltered_commit_\kind:
.Lreturn_\kind:
	ret

	/* Counted, so that its cost is known. */
.Lexcluded_\kind:
	movq	t_thread@gottpoff(%rip), %rcx
	movq	%fs:T_EXCLUDED(%rcx), %rax
	testq	%rax, %rax
	jz	.Luncounted_\kind
	incq	(%rax)
	ret
.Luncounted_\kind:
	addw	$UNTOLD_ONE, %fs:T_UNTOLD(%rcx)
	jz	hook_tell_excluded
	ret

.Lgeneral_\kind:
	movq	%rsp, %rdx
	jmp	\slow

	abort_handler .Labort_\kind, .Lrestart_\kind, .Lgeneral_\kind
	.cfi_endproc
	.size	\name, . - \name

	describe_sequence .Lplain_\kind, .Lplain_start_\kind, \
		.Lplain_commit_\kind, .Labort_\kind
	describe_sequence .Lfiltered_\kind, .Lfiltered_start_\kind, \
		.Lfiltered_commit_\kind, .Labort_\kind
	.endm

	.text
	hook	__cyg_profile_func_enter, 1, T_LIMIT_BEGIN, hook_general_enter
	hook	__cyg_profile_func_exit, 2, T_LIMIT_END, hook_general_exit

	.section .note.GNU-stack, "", @progbits
