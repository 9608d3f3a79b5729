/* SPDX-License-Identifier: Apache-2.0
 *
 * line_starts - at which address each sequence of a line table begins, and with
 * which row. libdw sorts all rows of a table by address, and forgets which rows
 * belong to one sequence. So where one sequence ends and another one begins,
 * the last row of the first may come behind the first row of the second.
 * perfrec-symbolize uses this, as symbolize_dwarf. perfrec-reader asks for the
 * files of some functions. One thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_LINE_STARTS_H
#define PERFREC_COLLECTOR_NAMES_LINE_STARTS_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct line_start { /* of a sequence that covers at least one byte */
	uint64_t address;
	uint32_t file; /* as the table numbers its files */
	uint32_t line; /* of the last row at the address: the one that counts */
};

struct line_starts {
	struct line_start *list; /* by address */
	size_t count, room;
};

/*
 * Reads the line table at @offset of the section .debug_line of @elf into @out,
 * which is empty. A table that is broken, or too new, is read as far as it can
 * be understood. Without memory some sequences are missing. The list is the
 * caller's to free().
 */
void line_starts_read(Elf *elf, uint64_t offset, struct line_starts *out);

/* The sequence that begins at @address; NULL: none. */
const struct line_start *line_starts_find(const struct line_starts *starts,
					  uint64_t address);

struct line_file { /* the file that some code was written in */
	uint64_t address; /* of the code */
	/* Each of them is relative to the one before, or absolute. */
	const char *root; /* where the compiler ran, or "" */
	const char *folder; /* or "" */
	const char *path; /* NULL: not known */
};

/* Finds the files of the @count addresses in @files, which are sorted. Finds
 * only addresses at which a row begins; each function begins with one. @elf
 * owns the texts. Tables above 64 MiB are not read. */
void line_files_find(Elf *elf, struct line_file *files, size_t count);

#endif
