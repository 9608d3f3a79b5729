/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize_dwarf - source lines and inlined functions from the debug
 * information of an ELF file. libdw does not withstand hostile input, so only
 * perfrec-symbolize may call this: a process with limits of memory and CPU
 * time. One thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOLIZE_DWARF_H
#define PERFREC_COLLECTOR_NAMES_SYMBOLIZE_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/names/symbolize_wire.h"

struct call_layout;
struct dwarf_lines;

struct dwarf_frame { /* strings are never NULL */
	const char *function; /* mangled if possible; "": unknown */
	const char *home; /* declaring file of an ambiguous name, or "" */
	const char *folder; /* prefix of file, or "" */
	const char *file;
	uint32_t line;
	uint32_t start_line; /* of the declaration; 0: unknown */
};

/* @alt_fd is the dwz file, or -1; unreadable ones are ignored. The caller keeps
 * both open until dwarf_lines_free(). Returns 0; or -ENOMEM or -EBADMSG, with a
 * static text in *@why. */
int dwarf_lines_new(int fd, int alt_fd, struct dwarf_lines **out,
		    const char **why);
void dwarf_lines_free(struct dwarf_lines **lines);

/* Finds the frames at the virtual address @vaddr, innermost first, and returns
 * their count; 0: no function and no line. Addresses may come in any order. The
 * first in a compile unit reads that unit, which takes time. */
size_t dwarf_lines_find(struct dwarf_lines *lines, uint64_t vaddr,
			struct dwarf_frame out[SYMBOLIZE_FRAMES_MAX]);
/* Describes the function that starts at @vaddr, or a few bytes before with the
 * sled of an entry build, in @out, which is empty before; the caller releases it.
 * Returns false if none is known to start there. Also reads the unit. */
bool dwarf_lines_call(struct dwarf_lines *lines, uint64_t vaddr,
		      struct call_layout *out);

#endif
