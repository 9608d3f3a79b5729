/* SPDX-License-Identifier: Apache-2.0
 *
 * hook_x86_64 - the fast path of __cyg_profile_func_enter and _exit, and of the
 * targets for thunks of entry builds (function_shm.h).
 *
 * One record is one restartable sequence (rseq(2), docs/RING.md). It starts
 * with the load of the gate, and its last instruction is the store of head,
 * which makes the record visible. If the kernel preempts or signals the thread
 * inside, it continues at the abort handler, which starts over: with the gate
 * again, since a signal handler may have forked, and with a new clock.
 *
 * The hooks use no stack, so one unwind rule holds at each instruction. They
 * use only the registers rax rcx rdx rsi rdi r8-r11, none of which a function
 * must save. rdi (function) and rsi (call site) stay unchanged until the
 * commit, for the restart and for hook_general().
 *
 * The two rdtsc are nearly the whole cost of a span; the other instructions run
 * in their shadow (docs/BENCHMARKS.md).
 *
 * At a call of an entry build all registers except r11 are live, because they
 * hold arguments or results: vector and x87 registers as well. The fast path
 * saves the seven registers that it uses. The slow path saves all of them
 * before it calls C.
 */
#include "preload/core/thread_asm.h"

#define FILTER_MULTIPLIER 0x9e3779b97f4a7c15
#define KIND_BEGIN 1
#define KIND_END 2

	/* rcx is the offset of t_thread throughout. */
	.macro arm_sequence descriptor
	movq	g_rseq_cs(%rip), %rdx
	leaq	\descriptor(%rip), %rax
	movq	%rax, %fs:(%rcx, %rdx)
	.endm

	/* Records the span; the last instruction commits. The stack pointer is
	 * the hook's, or lies @above bytes below it in an entry build. */
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

	/* struct rseq_cs (linux/rseq.h): version, flags, start, length,
	 * abort */
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

	/* rax = the first entry of the filter for function rdi; ecx = shift */
	.macro probe_filter
	movabsq	$FILTER_MULTIPLIER, %rax
	imulq	%rdi, %rax
	movl	g_filter+FILTER_SHIFT(%rip), %ecx
	shrq	%cl, %rax
	movq	g_filter+FILTER_TABLE(%rip), %rdx
	movq	(%rdx, %rax, 8), %rax
	.endm

	/* Records a span that the filter admits. */
	.macro record_filtered tag, kind, limit, above, put=put_record
	movq	t_thread@gottpoff(%rip), %rcx
	arm_sequence .Lfiltered_\tag
.Lfiltered_start_\tag:
	movq	g_gate(%rip), %rax
	xorq	%fs:T_EPOCH(%rcx), %rax
	cmpq	$GATE_FILTER, %rax
	jne	.Lgeneral_\tag
	\put \kind, \limit, .Lgeneral_\tag, \above
.Lfiltered_commit_\tag:
	.endm

	/* Records a span if nothing is unusual; else eax is the gate, at
	 * .Lnot_plain. Begins with the restart of both sequences. */
	.macro record_plain tag, kind, limit, above, put=put_record
.Lrestart_\tag:
	movq	t_thread@gottpoff(%rip), %rcx
	arm_sequence .Lplain_\tag
.Lplain_start_\tag:
	movq	g_gate(%rip), %rax
	cmpq	%fs:T_EPOCH(%rcx), %rax
	jne	.Lnot_plain_\tag
	\put \kind, \limit, .Lgeneral_\tag, \above
.Lplain_commit_\tag:
	.endm

	.macro describe_sequences tag
	describe_sequence .Lplain_\tag, .Lplain_start_\tag, \
		.Lplain_commit_\tag, .Labort_\tag
	describe_sequence .Lfiltered_\tag, .Lfiltered_start_\tag, \
		.Lfiltered_commit_\tag, .Labort_\tag
	.endm

	/* rdi is the function. Return by @leave. */
	.macro record_span tag, kind, limit, leave, above
	record_plain \tag, \kind, \limit, \above
	\leave

.Lnot_plain_\tag:
	cmpl	$GATE_OFF, %eax
	je	.Lreturn_\tag
	andl	$(GATE_FILTER | GATE_GENERAL), %eax
	cmpl	$GATE_FILTER, %eax
	jne	.Lgeneral_\tag
	/* An excluded function costs this probe, even in a thread without slot.
	 * If the entry belongs or belonged to another function, hook_general()
	 * continues the search. */
	probe_filter
	cmpq	%rdi, %rax
	je	.Lexcluded_\tag
	testq	%rax, %rax
	jne	.Lgeneral_\tag
	record_filtered \tag, \kind, \limit, \above
.Lreturn_\tag:
	\leave

	/* Count the hook, so that its cost is known, and the call, if the
	 * function has a number: cell 0 belongs to no function. ecx is the
	 * shift. */
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

	describe_sequences \tag
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

/* For a function with a number (r11) in a thread without counts. */
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

/* --- entry builds --------------------------------------------------------- */

	/* Saves the registers of the fast path. @below bytes already lie on the
	 * stack, below the return address. */
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

	/* Saves all other registers and calls @slow(rdi, r11, address of the
	 * function's return address), which is @above the stack pointer. With
	 * @vectors, the area of xsave is a fourth argument. */
	.macro	entry_general slow, leave, above, vectors
	.cfi_remember_state
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rsi, 0
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	/* The stack may be small, so save only components in use. A component
	 * of zeros is not in use, and xrstor sets those to zero again. */
	movl	g_vector_state+VECTOR_MASK(%rip), %eax
	movl	g_vector_state+VECTOR_TELLS(%rip), %ecx
	testl	%ecx, %ecx
	jz	5f
	movl	%eax, %r8d
	xgetbv				/* ecx is 1: components in use */
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
	.ifnb	\vectors
	movq	%rsp, %rcx
	.endif
	call	\slow
	movl	g_vector_state+VECTOR_MASK(%rip), %eax
	testl	%eax, %eax
	jz	3f
	xorl	%edx, %edx
	/* Some CPUs read the bytes of each component that xrstor restores, also
	 * if it only sets the component to zero. No room was made for such a
	 * component, and the stack may end there. */
	movl	512(%rsp), %ecx		/* components in use */
	orl	$XSAVE_SSE, %ecx
	andl	%eax, %ecx
	xorl	%ecx, %eax
	jz	9f
	xrstor64 vector_zeros(%rip)
9:	movl	%ecx, %eax
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
	/* The thunk has pushed r11; it is restored. */
	entry_hook hook_entry_exit_pushed, entry_exit_pushed, KIND_END, \
		T_LIMIT_END, hook_entry_general_exit, entry_leave_pushed, 8

	/* r11 is the function number. */
	entry_begin hook_entry_enter_general, 0
	xorl	%edi, %edi
	entry_general hook_enter_numbered, entry_leave, SAVED + 8
	.cfi_endproc
	.size	hook_entry_enter_general, . - hook_entry_enter_general

/* --- moved functions ------------------------------------------------------ */

	/* Saves the registers of the fast path. */
	.macro	moved_begin name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	endbr64
	.irp	reg, r11, rax, rcx, rdx, rdi, r8, r9, r10
	pushq	%\reg
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %\reg, 0
	.endr
	.endm
#define MOVED_RDI 24 /* above the stack pointer */
#define MOVED_RDX 32
#define MOVED_RCX 40
#define MOVED_RAX 48
#define MOVED_R8 16
#define MOVED_R9 8
#define MOVED_SAVED 64
#define MOVED_NUMBER (MOVED_SAVED + 8)
#define MOVED_RETURN (MOVED_SAVED + 16)

	/* Returns with the carry flag set if bit MOVED_UNRECORDED of @word is
	 * set. */
	.macro	moved_leave word
	.cfi_remember_state
	.irp	reg, r10, r9, r8, rdi, rdx, rcx, rax, r11
	popq	%\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore %\reg
	.endr
	btq	$MOVED_UNRECORDED, \word
	ret
	.cfi_restore_state
	.endm

	.macro	moved_leave_pushed
	moved_leave 8(%rsp)
	.endm

	.macro	moved_leave_r11
	moved_leave %r11
	.endm

	/* Makes room for an EXT_WORDS, whose word is in r11, and a BEGIN or END;
	 * all have @cells. r10 is the first one. */
	.macro	begin_words limit, full, cells
	movq	%fs:T_SLOT(%rcx), %r8
	movq	(%r8), %r9
	leaq	\cells(%r9), %rax
	cmpq	%fs:\limit(%rcx), %rax
	ja	\full
	movq	%fs:T_MASK(%rcx), %r10
	movq	%r10, %rdx
	andq	%r9, %r10
	subq	%r10, %rdx
	cmpq	$(\cells - 1), %rdx	/* an EXT_PAD is needed */
	jb	\full
	shlq	$4, %r10
	addq	%fs:T_CELLS(%rcx), %r10
	movq	%r11, (%r10)
	.endm

	/* The last instruction commits. */
	.macro	end_words kind, above, cells
	movq	%rdi, %rdx
	shlq	$16, %rdx
	leal	\above(%rsp), %eax
	andl	$0xfff0, %eax
	leaq	\kind(%rdx, %rax), %rdx
	movq	%rdx, (16 * \cells - 16)(%r10)
	rdtsc
	shlq	$32, %rdx
	orq	%rdx, %rax
	movq	%rax, 8(%r10)
	movq	%rax, (16 * \cells - 8)(%r10)
	addq	$\cells, %r9
	/* order: rel, HEAD: as in put_record */
	movq	%r9, (%r8)
	.endm

	.macro	store_words_2
	movq	MOVED_RDI(%rsp), %rax
	movq	%rax, 16(%r10)
	movq	%rsi, 24(%r10)
	.endm

	.macro	store_words_6
	store_words_2
	movq	MOVED_RDX(%rsp), %rax
	movq	MOVED_RCX(%rsp), %rdx
	movq	%rax, 32(%r10)
	movq	%rdx, 40(%r10)
	movq	MOVED_R8(%rsp), %rax
	movq	MOVED_R9(%rsp), %rdx
	movq	%rax, 48(%r10)
	movq	%rdx, 56(%r10)
	.endm

	.macro	put_words_2 kind, limit, full, above
	begin_words \limit, \full, 3
	store_words_2
	end_words \kind, \above, 3
	.endm

	.macro	put_words_6 kind, limit, full, above
	begin_words \limit, \full, 5
	store_words_6
	end_words \kind, \above, 5
	.endm

	.macro	put_words_14 kind, limit, full, above
	begin_words \limit, \full, 9
	store_words_6
	movq	%xmm0, 64(%r10)
	movq	%xmm1, 72(%r10)
	movq	%xmm2, 80(%r10)
	movq	%xmm3, 88(%r10)
	movq	%xmm4, 96(%r10)
	movq	%xmm5, 104(%r10)
	movq	%xmm6, 112(%r10)
	movq	%xmm7, 120(%r10)
	end_words \kind, \above, 9
	.endm

	.macro	put_words_exit kind, limit, full, above
	begin_words \limit, \full, 3
	movq	MOVED_RAX(%rsp), %rax
	movq	%rax, 16(%r10)
	movq	%xmm0, 24(%r10)
	end_words \kind, \above, 3
	.endm

	/* Sets r11 to the word of the EXT_WORDS of the function whose number
	 * is in edi. rax are the modes. */
	.macro	find_words kind
	.if	\kind == KIND_BEGIN
	movq	MOVED_SAVED(%rsp), %r11
	movq	(MOVED_WORDS - MOVED_ENTERED)(%r11), %r11
	.else
	movq	%rdi, %r11
	shlq	$MOVED_BYTES_SHIFT, %r11
	movq	(MOVED_CODE + MOVED_WORDS + 8)(%rax, %r11), %r11
	.endif
	.endm

	/* Records a span of the function whose number is in edi, with its words
	 * if @put stores them. */
	.macro	moved_hook tag, kind, limit, slow, put=put_record, vectors
	movq	g_thunk_modes(%rip), %rax
	.ifnb	\vectors
	find_words \kind
	.endif
	shlq	$MODE_BYTES_SHIFT, %rdi
	.if	\kind == KIND_BEGIN
	testl	$MODE_UNKNOWN, MODE_FRAME(%rax, %rdi)
	jnz	.Lcopies_\tag
.Lcan_copy_\tag:
	.endif
	movq	MODE_FUNCTION(%rax, %rdi), %rdi
	.if	\kind == KIND_END
	testq	%rdi, %rdi
	jz	.Lleave_\tag
	.ifnb	\vectors
	testq	%r11, %r11
	jz	.Lgeneral_\tag
	.endif
	.endif
	record_plain \tag, \kind, \limit, MOVED_RETURN, \put
.Lleave_\tag:
	moved_leave_pushed

.Lnot_plain_\tag:
	cmpl	$GATE_OFF, %eax
	je	.Loff_\tag
	andl	$(GATE_FILTER | GATE_GENERAL), %eax
	cmpl	$GATE_FILTER, %eax
	jne	.Lgeneral_\tag
	probe_filter
	testq	%rax, %rax
	jne	.Lgeneral_\tag
	record_filtered \tag, \kind, \limit, MOVED_RETURN, \put
	moved_leave_pushed

.Loff_\tag:
	.if	\kind == KIND_BEGIN
	movb	$1, (MOVED_NUMBER + MOVED_UNRECORDED / 8)(%rsp)
	.endif
	moved_leave_pushed

	/* The thunk copies words above the return address, but the stack may
	 * end there. */
	.if	\kind == KIND_BEGIN
.Lcopies_\tag:
	leal	MOVED_RETURN(%rsp), %ecx
	andl	$(HOOK_PAGE_BYTES - 1), %ecx
	testl	$MODE_MANY, MODE_FRAME(%rax, %rdi)
	jnz	.Lcopies_many_\tag
	cmpl	$(HOOK_PAGE_BYTES - 8 - MODE_UNKNOWN_BYTES), %ecx
	jbe	.Lcan_copy_\tag
	jmp	.Lgeneral_\tag
.Lcopies_many_\tag:
	cmpl	$(HOOK_PAGE_BYTES - 8 - MODE_MANY_BYTES), %ecx
	jbe	.Lcan_copy_\tag
	.endif

.Lgeneral_\tag:
	movl	MOVED_NUMBER(%rsp), %r11d
	entry_general \slow, moved_leave_pushed, MOVED_RETURN, \vectors
	describe_sequences \tag
	abort_handler \tag
	.cfi_endproc
	.endm

	/* If the return address lies in another thunk of this mapping, behind
	 * its call of the body, that function has jumped to this one. */
	.macro	check_jump general
	movl	MOVED_NUMBER(%rsp), %edi
	movq	%rdi, %rax
	shlq	$MOVED_BYTES_SHIFT, %rax
	subq	MOVED_SAVED(%rsp), %rax
	addq	MOVED_RETURN(%rsp), %rax
	addq	$MOVED_ENTERED, %rax	/* offset from the first thunk */
	cmpq	g_thunk_code_bytes(%rip), %rax
	jae	1f
	andl	$((1 << MOVED_BYTES_SHIFT) - 1), %eax
	cmpl	$MOVED_RECORD, %eax
	jae	\general
1:
	.endm

	moved_begin hook_moved_enter
	check_jump .Lgeneral_moved_enter
	moved_hook moved_enter, KIND_BEGIN, T_LIMIT_BEGIN, \
		hook_moved_general_enter
	.size	hook_moved_enter, . - hook_moved_enter

	moved_begin hook_moved_exit
	movl	MOVED_NUMBER(%rsp), %edi
	moved_hook moved_exit, KIND_END, T_LIMIT_END, hook_moved_general_exit
	.size	hook_moved_exit, . - hook_moved_exit

	.macro	words_enter words
	moved_begin hook_moved_enter_\words
	check_jump .Lgeneral_moved_enter_\words
	moved_hook moved_enter_\words, KIND_BEGIN, T_LIMIT_BEGIN, \
		hook_moved_enter_words, put_words_\words, vectors
	.size	hook_moved_enter_\words, . - hook_moved_enter_\words
	.endm

	words_enter 2
	words_enter 6
	words_enter 14

	moved_begin hook_moved_exit_words
	movl	MOVED_NUMBER(%rsp), %edi
	moved_hook moved_exit_words, KIND_END, T_LIMIT_END, \
		hook_moved_leave_words, put_words_exit, vectors
	.size	hook_moved_exit_words, . - hook_moved_exit_words

	.macro	words_any name, slow
	moved_begin \name
	movl	MOVED_NUMBER(%rsp), %r11d
	entry_general \slow, moved_leave_pushed, MOVED_RETURN, vectors
	.cfi_endproc
	.size	\name, . - \name
	.endm

	words_any hook_moved_enter_any, hook_moved_enter_words
	words_any hook_moved_exit_any, hook_moved_leave_words

	/* r11 is the number; the caller has saved it. The word that says whether
	 * to record lies 24 bytes below the return address of the function. */
	moved_begin hook_moved_count
	movl	g_gate(%rip), %eax
	cmpl	$GATE_OFF, %eax
	jne	1f
	movb	$1, (MOVED_SAVED - 8 + MOVED_UNRECORDED / 8)(%rsp)
	moved_leave_r11
1:	entry_general hook_moved_general_count, moved_leave_r11, MOVED_RETURN
	.cfi_endproc
	.size	hook_moved_count, . - hook_moved_count

/* --- what xrstor reads for components of zeros ---------------------------- */

	.section .rodata
	.balign	64
	.type	vector_zeros, @object
vector_zeros:
	.zero	24
	.long	0x1f80			/* the usual mxcsr */
	.zero	VECTOR_BYTES_ZMM - 28
	.size	vector_zeros, . - vector_zeros

	.section .note.GNU-stack, "", @progbits
