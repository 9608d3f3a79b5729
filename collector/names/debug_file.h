/* SPDX-License-Identifier: Apache-2.0
 *
 * debug_file - finds the file that the debug information of a module was
 * moved to, when the module was stripped. What is found must have the
 * module's build-id, or if one of the two has none, the checksum that the
 * module names. Any thread; opens and may read files, and debuginfod may
 * take seconds: not for drain threads.
 */
#ifndef PERFREC_COLLECTOR_NAMES_DEBUG_FILE_H
#define PERFREC_COLLECTOR_NAMES_DEBUG_FILE_H

#include <stdbool.h>

#include "collector/names/symbolize.h"

struct debug_search {
	int fd; /* the module */
	const char *path; /* of the module, below the root of its process */
	int root_fd; /* that root, if it is not ours; -1: it is */
	bool was_told; /* that a file does not fit: said but once, set then */
};

/*
 * The file with the .symtab of a module that has none. Looks, in the root of
 * the process and then in ours, into /usr/lib/debug/.build-id and where
 * .gnu_debuglink says; if there is none, unpacks what the module brings with
 * it (mini_debug.h). 0 with a descriptor that is then the caller's in *@out;
 * -ENOENT.
 */
int debug_file_symbols(struct debug_search *search, int *out);

struct debug_lines { /* descriptors; the caller's */
	int fd; /* the file with the debug information */
	int alt_fd; /* what dwz moved out of that; -1: nothing */
};

/*
 * The debug information of a module: in itself, or in a file as above, or,
 * if the user has set DEBUGINFOD_URLS, from such a server. 0, -ENODATA (there
 * is none) or another -errno, with a reason in @why.
 */
int debug_file_lines(struct debug_search *search, struct debug_lines *out,
		     char why[SYMBOLIZE_WHY_BYTES]);

#endif
