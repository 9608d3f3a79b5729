/* SPDX-License-Identifier: Apache-2.0
 *
 * entry_witness - linked into an entry build, tells libcount_preload.so of each
 * call that such a build tells perfrec of: the weak __perfrec_entry of `perfrec
 * cc` gives way to the one here. So the calls of an entry build are counted by
 * somebody else than perfrec. To be compiled with -mgeneral-regs-only.
 */
#include <stdint.h>

void __cyg_profile_func_enter(void *function, void *call_site);
void entry_witness(const uint8_t *returns);

/* @returns: behind the call, which is the first instruction of the function. */
__attribute__((used, visibility("hidden"))) void entry_witness(
	const uint8_t *returns)
{
	const uint8_t *start = returns - 5;

	if (start[0] == 0xe8 && start[-1] == 0x67)
		start--; /* what a linker has made of a call of 6 bytes */
	__cyg_profile_func_enter((void *)(uintptr_t)start, 0);
}

/* Arguments of all kinds are live here. */
__asm__(".pushsection .text\n"
	".globl __perfrec_entry\n"
	".hidden __perfrec_entry\n"
	".type __perfrec_entry, @function\n"
	"__perfrec_entry:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %rax\n"
	"	push %rcx\n"
	"	push %rdx\n"
	"	push %rsi\n"
	"	push %rdi\n"
	"	push %r8\n"
	"	push %r9\n"
	"	push %r10\n"
	"	push %r11\n"
	"	mov 8(%rbp), %rdi\n"
	"	sub $512, %rsp\n"
	"	and $-64, %rsp\n"
	"	fxsave64 (%rsp)\n"
	"	call entry_witness\n"
	"	fxrstor64 (%rsp)\n"
	"	lea -72(%rbp), %rsp\n"
	"	pop %r11\n"
	"	pop %r10\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %rdi\n"
	"	pop %rsi\n"
	"	pop %rdx\n"
	"	pop %rcx\n"
	"	pop %rax\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.size __perfrec_entry, . - __perfrec_entry\n"
	"	.popsection\n");
