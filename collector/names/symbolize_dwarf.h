/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize_dwarf - finds source lines and inlined functions in the debug
 * information of one ELF file. It uses libdw, which was not written for hostile
 * input. So only perfrec-symbolize may call these functions: that is a process
 * of its own, and has limits of memory and CPU time. One thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOLIZE_DWARF_H
#define PERFREC_COLLECTOR_NAMES_SYMBOLIZE_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include "collector/names/symbolize_wire.h"

struct dwarf_lines;

struct dwarf_frame { /* the strings are never NULL, and live as long as the
		      * dwarf_lines */
	const char *function; /* mangled if the compiler mangles; "": unknown */
	const char *home; /* if others may have the name: the file that declares
			   * the function; or "" */
	const char *folder; /* goes in front of file, with a '/'; or "" */
	const char *file; /* "": unknown */
	uint32_t line; /* 0: unknown */
	uint32_t start_line; /* the line that declares the function; 0: unknown
			      */
};

/*
 * Opens the debug information in the ELF file behind @fd. @alt_fd is the file
 * into which dwz(1) has moved a part of that debug information; -1 if there is
 * none. A file behind @alt_fd that cannot be read is ignored. Both descriptors
 * stay the caller's, who keeps them open until dwarf_lines_free().
 * Returns 0; the caller then owns *@out. Or returns -ENOMEM or -EBADMSG; then
 * *@out is as before, and *@why says in a few words what is wrong (a string
 * that the caller does not free).
 */
int dwarf_lines_new(int fd, int alt_fd, struct dwarf_lines **out,
		    const char **why);
/* Frees *@lines, which may be NULL, and sets it to NULL. */
void dwarf_lines_free(struct dwarf_lines **lines);

/*
 * Says where the code at @vaddr, a virtual address of the file, comes from.
 * Writes the innermost inlined function first, and last the function into which
 * all the others are inlined. Returns how many frames it wrote; 0: the debug
 * information has neither a function nor a line for @vaddr. The addresses of
 * several calls may come in any order. The first address in a compile unit
 * makes the call read that unit, which takes time.
 */
size_t dwarf_lines_find(struct dwarf_lines *lines, uint64_t vaddr,
			struct dwarf_frame out[SYMBOLIZE_FRAMES_MAX]);

#endif
