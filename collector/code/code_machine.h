/* SPDX-License-Identifier: Apache-2.0
 *
 * code_machine - the numbers of ELF that belong to a machine. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_MACHINE_H
#define PERFREC_COLLECTOR_CODE_CODE_MACHINE_H

#include <elf.h>
#include <stdbool.h>

enum code_rela {
	CODE_RELA_OTHER,
	CODE_RELA_RELATIVE, /* an address in the same module */
	CODE_RELA_SLOT, /* the address of a symbol, in the GOT */
	CODE_RELA_ADDRESS, /* the same, anywhere */
};

/* Returns true for files that this machine runs. */
bool code_machine_is(const Elf64_Ehdr *elf);
enum code_rela code_machine_rela(const Elf64_Rela *rela);

#endif
