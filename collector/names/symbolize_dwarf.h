/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize_dwarf - source lines and inlined functions from the debug
 * information of one ELF file, by libdw. libdw is not made for hostile
 * input: only perfrec-symbolize, a process of its own with limits, calls
 * this. One thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOLIZE_DWARF_H
#define PERFREC_COLLECTOR_NAMES_SYMBOLIZE_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include "collector/names/symbolize_wire.h"

struct dwarf_lines;

struct dwarf_frame { /* strings live as long as the dwarf_lines; or "" */
	const char *function; /* mangled, if the compiler mangles */
	const char *folder; /* to put in front of file, or "" */
	const char *file;
	uint32_t line; /* 0: unknown */
	uint32_t start_line; /* where the function begins; 0: unknown */
};

/*
 * The debug information in the ELF file behind @fd; what dwz(1) has moved out
 * of it is behind @alt_fd (-1: nothing is). Both stay the caller's, and open
 * until dwarf_lines_free(). 0, or -errno with *@why saying in a few words
 * what is wrong.
 */
int dwarf_lines_new(int fd, int alt_fd, struct dwarf_lines **out,
		    const char **why);
void dwarf_lines_free(struct dwarf_lines **lines);

/*
 * Where the code at @vaddr comes from: the innermost function first. Returns
 * how many frames it wrote, 0 when @vaddr is in no function that is described.
 * Addresses may come in any order; the first in a compile unit reads it.
 */
size_t dwarf_lines_find(struct dwarf_lines *lines, uint64_t vaddr,
			struct dwarf_frame out[SYMBOLIZE_FRAMES_MAX]);

#endif
