/* SPDX-License-Identifier: Apache-2.0
 *
 * linker_x86_64 - const void *linker_text(void): returns an address in the code
 * of the dynamic linker. The first word of a TLS descriptor points to the
 * function that finds the variable; the dynamic linker stores its own function
 * there when it relocates the shim. The variable itself is unused.
 */
	.section .tbss, "awT", @nobits
	.balign	8
unused:	.zero	8

	.text
	.globl	linker_text
	.hidden	linker_text
	.type	linker_text, @function
	.balign	16
linker_text:
	endbr64
	leaq	unused@TLSDESC(%rip), %rax
	movq	(%rax), %rax
	ret
	.size	linker_text, . - linker_text

	.section .note.GNU-stack, "", @progbits
