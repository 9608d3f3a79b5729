/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_machine.h"

bool code_machine_is(const Elf64_Ehdr *elf)
{
	return elf->e_machine == EM_X86_64;
}

enum code_rela code_machine_rela(const Elf64_Rela *rela)
{
	switch (ELF64_R_TYPE(rela->r_info)) {
	case R_X86_64_RELATIVE:
		return CODE_RELA_RELATIVE;
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
		return CODE_RELA_SLOT;
	case R_X86_64_64:
		return CODE_RELA_ADDRESS;
	default:
		return CODE_RELA_OTHER;
	}
}
