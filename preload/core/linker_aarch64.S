/* SPDX-License-Identifier: Apache-2.0
 *
 * linker_aarch64 - const void *linker_text(void), as in linker_x86_64.S.
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
	adrp	x0, :tlsdesc:unused
	ldr	x0, [x0, :tlsdesc_lo12:unused]
	ret
	.size	linker_text, . - linker_text

	.section .note.GNU-stack, "", @progbits
