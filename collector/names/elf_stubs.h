/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_stubs - entries of the procedure linkage table (PLT) of an x86-64 file:
 * code without symbols that jumps to functions of other modules. elf_read calls
 * this in perfrec-reader.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_STUBS_H
#define PERFREC_COLLECTOR_NAMES_ELF_STUBS_H

#include <libelf.h>

struct elf_functions;

/* Appends the PLT entries, named "function@plt" as in perf and gdb. Entries of
 * own STT_GNU_IFUNC functions have the name of the function in @functions.
 * Skips malformed tables, does not sort. Returns 0 or -ENOMEM. Any thread. */
int elf_stubs_add(Elf *elf, struct elf_functions *functions);

#endif
