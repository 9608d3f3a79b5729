/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_settle - sorts the functions that elf_read found in symbol tables, and
 * leaves one name per address. A part of elf_read; pure apart from reading.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_SETTLE_H
#define PERFREC_COLLECTOR_NAMES_ELF_SETTLE_H

#include <stdbool.h>

struct elf_functions;

/* Sorts the list of @functions, whose functions without a size reach to the end
 * of their section so far. Drops labels that lie inside functions, and ends
 * functions of unknown size. @fd is the file with the unwind tables. @is_whole:
 * the file has the symbol table of the linker, with all its functions. */
void elf_settle(int fd, bool is_whole, struct elf_functions *functions);

#endif
