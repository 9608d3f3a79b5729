/* SPDX-License-Identifier: Apache-2.0
 *
 * thunks_x86_64 - the templates of thunks (shared/function_shm.h), as data that
 * the collector copies into the thunk area.
 *
 * A signal handler may call the same function between any two instructions, so
 * each change of a count is one instruction. A handler may release the thread's
 * slot, so each load of the counts checks them.
 */
#include "collector/code/thunks_asm.h"

#define PATH_RECORD 2 /* enum thunk_path */

	/* The @size bytes that end @before bytes back are a hole. */
	.macro hole kind, size=4, before=0
.Lhole_\@:
	.pushsection .rodata.thunk_holes, "a"
	.short	\kind, .Lhole_\@ - .Ltemplate - \size - \before
	.popsection
	.endm

	.macro template name
	.pushsection .rodata.thunk_holes, "a"
	.globl	thunk_holes_\name
	.hidden	thunk_holes_\name
thunk_holes_\name:
	.popsection
	.globl	thunk_template_\name
	.hidden	thunk_template_\name
	.balign	64
thunk_template_\name:
	.set	.Ltemplate, thunk_template_\name
	.endm

	/* From here on, @bytes lie below the return address. Starts at 0. */
	.macro pushed bytes
.Lpushed_\@:
	.pushsection .rodata.thunk_frames, "a"
	.short	.Lpushed_\@ - .Ltemplate, \bytes
	.popsection
	.endm

	.macro at offset
	.org	.Ltemplate + \offset, 0xcc
	.endm

	.macro end_template
	at	THUNK_TEMPLATE_BYTES
	.pushsection .rodata.thunk_holes, "a"
	.short	HOLE_END, 0
	.popsection
	.endm

	/* Loads the counts into r11 if @epoch is that of the thread, or jumps to
	 * @none. */
	.macro counts_of_epoch epoch, none
	cmpl	%fs:0, \epoch
	hole	HOLE_EPOCH
	jne	\none
	movq	%fs:0, %r11
	hole	HOLE_COUNTS
	testq	%r11, %r11
	jz	\none
	.endm

	/* Loads the counts into r11, or jumps to @none. Clobbers eax. */
	.macro counts_or none
	movabsl	0, %eax
	hole	HOLE_COUNT_EPOCH, 8
	counts_of_epoch %eax, \none
	.endm

	/* As counts_or, but changes only r11. */
	.macro entry_counts_or none
	movabsq	$0, %r11
	hole	HOLE_COUNT_EPOCH, 8
	movl	(%r11), %r11d
	counts_of_epoch %r11d, \none
	.endm

	/* Returns from a call that is only counted. One byte decides: `ret`, or
	 * the first byte of the `jmp`. */
	.macro count_call rest
	incq	0x7fffffff(%r11)
	hole	HOLE_CALLS
	.byte	THUNK_PATH_REST
	hole	HOLE_PATH, 1
	.byte	\rest - . - 1
	.endm

	/* Continues if the call shall be recorded, and sets its bit; else jumps
	 * to @none. @shift shifts the bits of open calls and returns to
	 * @shifted. A word of 0 skips it: two changes of a word per call would
	 * wait for each other. */
	.macro count_record none, shift, shifted
	cmpq	$0, 0x7fffffff(%r11)
	hole	HOLE_RECORDED, 4, 1
	jne	\shift
\shifted:
	cmpl	$PATH_RECORD, 0(%rip)
	hole	HOLE_MODE, 4, 1
	jne	\none
	orb	$1, 0x7fffffff(%r11)
	hole	HOLE_RECORDED, 4, 1
	.endm

	.macro count_shift shifted
	shlq	0x7fffffff(%r11)
	hole	HOLE_RECORDED
	jmp	\shifted
	.endm

	/* Continues if no recorded call is open. */
	.macro count_exit open
	cmpq	$0, 0x7fffffff(%r11)
	hole	HOLE_RECORDED, 4, 1
	jne	\open
	.endm

	/* Continues if the entry of this call was recorded. */
	.macro count_open none
	sarq	0x7fffffff(%r11)
	hole	HOLE_RECORDED
	jnc	\none
	.endm

	.macro jump_to page_word
	jmp	*0(%rip)
	hole	\page_word
	.endm

	.section .rodata.thunk_frames, "a"
	.globl	thunk_frames
	.hidden	thunk_frames
thunk_frames:

	/* endbr64: sites compiled with -fno-plt call through memory. */
	.section .rodata.thunks, "a"
	template calls
	endbr64
	counts_or 1f
	count_call 2f
1:	movl	$0, %r11d
	hole	HOLE_NUMBER
	jump_to	HOLE_ENTER_GENERAL
2:	count_record 5f, 4f, 3
	jump_to	HOLE_ENTER
4:	count_shift 3b
5:	ret

	at	256
	endbr64
	counts_or 1f
	count_exit 2f
1:	ret
2:	count_open 1b
	jump_to	HOLE_EXIT
	/* thunk_pushed() does not know a thunk's template, so no code of this
	 * template may lie where the other one has bytes pushed. */
	at	336
	end_template

	/* Sites of entry builds never call through memory. The offsets are
	 * those of THUNK_EXIT_*. */
	template entry
	entry_counts_or 1f
	count_call 2f
1:	movl	$0, %r11d
	hole	HOLE_NUMBER
	jump_to	HOLE_ENTRY_ENTER_GENERAL
2:	count_record 5f, 4f, 3
	movq	0(%rip), %r11
	hole	HOLE_FUNCTION
	jump_to	HOLE_ENTRY_ENTER
4:	count_shift 3b
5:	ret

	/* Replaces the function's ret: a call and its return would double the
	 * cost. */
	at	192
	entry_counts_or 1f
	count_exit 2f
1:	ret
2:	count_open 1b
	call	3f
	ret

	at	256
	entry_counts_or 1f
	count_exit 2f
1:	ret
2:	count_open 1b
3:	movq	0(%rip), %r11
	hole	HOLE_FUNCTION
	jump_to	HOLE_ENTRY_EXIT

	at	336
	pushq	%r11
	pushed	8
	entry_counts_or 1f
	count_exit 2f
1:	popq	%r11
	pushed	0
	ret
	pushed	8
2:	count_open 1b
	movq	0(%rip), %r11
	hole	HOLE_FUNCTION
	jump_to	HOLE_ENTRY_EXIT_PUSHED
	end_template

	.section .rodata.thunk_frames, "a"
	.short	THUNK_TEMPLATE_BYTES, 0
	.section .note.GNU-stack, "", @progbits
