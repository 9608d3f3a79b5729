/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_stubs - the entries of the procedure linkage table (PLT) of an ELF file
 * of x86-64: short pieces of code, without symbols of their own, that jump to a
 * function of another module. elf_read calls this in perfrec-reader.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_STUBS_H
#define PERFREC_COLLECTOR_NAMES_ELF_STUBS_H

#include <libelf.h>

struct elf_functions;

/* Appends the entries of all PLTs of @elf to @functions, each with the name of
 * the function that it jumps to and "@plt", as perf and gdb write it. The entry
 * of a function of @elf itself that is chosen at the start (STT_GNU_IFUNC) has
 * the name of that function, which must be in @functions. Sizes and ranks are
 * set; the list is not sorted. A bad table adds nothing. Returns 0 or -ENOMEM;
 * entries that were added before that stay. Any thread. */
int elf_stubs_add(Elf *elf, struct elf_functions *functions);

#endif
