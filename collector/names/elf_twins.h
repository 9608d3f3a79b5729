/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_twins - makes equal names of functions distinct: each file of a program
 * can have a static function "init". A part of elf_read.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_TWINS_H
#define PERFREC_COLLECTOR_NAMES_ELF_TWINS_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct elf_functions;

struct elf_file {
	uint32_t name;
	uint32_t number; /* of the file in the table; 0: none */
};

/* Finds local functions of equal names, from @first on, and appends their file
 * (ELF_FILE_MARK) if their files differ, and " #2" and so on if the file names
 * do not. @files are from the symbol table of @elf. Returns 0 or -ENOMEM, with
 * some names changed. */
int elf_twins_name(Elf *elf, struct elf_functions *functions, size_t first,
		   const struct elf_file *files);

#endif
