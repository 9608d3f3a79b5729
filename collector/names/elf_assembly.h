/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_assembly - x86-64 machine code as text. Part of perfrec-reader, as its
 * input is hostile.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_ASSEMBLY_H
#define PERFREC_COLLECTOR_NAMES_ELF_ASSEMBLY_H

#include <stddef.h>
#include <stdint.h>

/* Longer ranges are cut. */
#define ELF_ASSEMBLY_BYTES_MAX (256u << 10)
/* Longest text of an instruction, with NUL. */
#define ELF_ASSEMBLY_TEXT 160
/* Stands for the target in a text, once at most. */
#define ELF_ASSEMBLY_TARGET '@'

struct elf_instruction {
	uint64_t target; /* virtual address in its text; 0: none */
	uint32_t at; /* from the start of the range */
	uint32_t bytes;
	uint32_t text; /* in strings: printable ASCII */
	uint32_t unused;
};

struct elf_assembly {
	struct elf_instruction *list; /* in order, without overlap */
	size_t count;
	char *strings;
	size_t string_bytes;
	/* The caller frees list and strings. */
};

/* Disassembles @bytes (ELF_ASSEMBLY_BYTES_MAX at most) at @code, which have the
 * virtual address @vaddr. Data between instructions becomes ".byte". Returns 0,
 * or -ENOMEM with *@out all zero. Any thread. */
int elf_assembly_make(const uint8_t *code, size_t bytes, uint64_t vaddr,
		      struct elf_assembly *out);

#endif
