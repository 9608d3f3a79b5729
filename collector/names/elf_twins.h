/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_twins - tells functions of one name apart. Each file of a program can
 * have a static function "init". A part of elf_read.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_TWINS_H
#define PERFREC_COLLECTOR_NAMES_ELF_TWINS_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct elf_functions;

struct elf_file { /* that the symbol table says a function is of */
	uint32_t name; /* offset in functions->strings */
	uint32_t number; /* of files in that table; 0: none */
};

/*
 * Looks for local functions of one name among those of @functions from number
 * @first on, which are from the symbol table of @elf. If they were written in
 * different files, ELF_FILE_MARK and the last part of the file's path are
 * appended to each name, and " #2" and so on where that part is the same.
 * @files has the file of each function. Returns 0 or -ENOMEM; after an error
 * some names have a file.
 */
int elf_twins_name(Elf *elf, struct elf_functions *functions, size_t first,
		   const struct elf_file *files);

#endif
