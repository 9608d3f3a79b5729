/* SPDX-License-Identifier: Apache-2.0
 *
 * linker_x86_64 - const void *linker_text(void): an address in the code of the
 * dynamic linker. The first word of a TLS descriptor is the function that a
 * program calls to find the variable. The dynamic linker writes a function of
 * its own there when it relocates the shim. Nothing reads the variable itself.
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
