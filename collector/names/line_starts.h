/* SPDX-License-Identifier: Apache-2.0
 *
 * line_starts - the first row of each sequence of a line table. libdw sorts all
 * rows of a table by address and forgets their sequences. So where sequences
 * are adjacent, the last row of the first may come after the first row of the
 * second. For symbolize_dwarf; perfrec-reader also asks for the files of
 * functions. One thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_LINE_STARTS_H
#define PERFREC_COLLECTOR_NAMES_LINE_STARTS_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct line_start {
	uint64_t address;
	uint32_t file;
	uint32_t line; /* last row at the address */
};

struct line_starts {
	struct line_start *list; /* sorted */
	size_t count, room;
};

/* Reads the line table at @offset of .debug_line into the empty @out. Stops at
 * malformed or unknown parts, or when out of memory. The caller frees the
 * list. */
void line_starts_read(Elf *elf, uint64_t offset, struct line_starts *out);

const struct line_start *line_starts_find(const struct line_starts *starts,
					  uint64_t address);

struct line_file {
	uint64_t address;
	/* Each is relative to the one before, or absolute. */
	const char *root; /* working directory of the compiler, or "" */
	const char *folder;
	const char *path; /* NULL: unknown */
};

/* Finds the files of the sorted addresses, which must start rows, as functions
 * do. @elf owns the texts. Skips tables above 64 MiB. */
void line_files_find(Elf *elf, struct line_file *files, size_t count);

#endif
