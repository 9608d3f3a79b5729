/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_settle - sorts the functions of symbol tables and keeps one name per
 * address. A part of elf_read.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_SETTLE_H
#define PERFREC_COLLECTOR_NAMES_ELF_SETTLE_H

#include <stdbool.h>

struct elf_functions;

/* Drops labels inside functions and computes missing sizes. Until then,
 * functions without a size reach to the end of their section. @fd has the
 * unwind tables. @is_whole: the file has the linker's complete symbol table. */
void elf_settle(int fd, bool is_whole, struct elf_functions *functions);

#endif
