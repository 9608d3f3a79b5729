/* SPDX-License-Identifier: Apache-2.0
 *
 * debug_file - finds the debug file of a stripped module. It must have the
 * build-id of the module. If one of the two has no build-id, it must have the
 * checksum in the module. Any thread, but not drain threads: reads files, and
 * debuginfod may take seconds.
 */
#ifndef PERFREC_COLLECTOR_NAMES_DEBUG_FILE_H
#define PERFREC_COLLECTOR_NAMES_DEBUG_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "collector/names/reader.h"
#include "collector/names/symbolize.h"

struct debug_search {
	struct readers *readers; /* read files for uid */
	uid_t uid; /* owner of the program */
	int fd;
	const char *path; /* in its process's root */
	int root_fd; /* that root; -1: our own root */
	bool was_told; /* output: a mismatch was logged */
};

/* Finds the .symtab of a module that has none. Looks in
 * /usr/lib/debug/.build-id and at .gnu_debuglink, first in the root of the
 * process, then in ours. Then tries the packed table in the module
 * (mini_debug.h). Returns 0, or -ENOENT. The caller closes out->fd. */
int debug_file_symbols(struct debug_search *search, struct reader_symtab *out);

struct debug_lines { /* descriptors, owned by the caller */
	int fd; /* debug information; may be O_PATH */
	int alt_fd; /* dwz file; -1: none */
};

/* Finds debug information in the module, in a debug file as above, or on a
 * server of DEBUGINFOD_URLS if that is set. Returns 0; -ENODATA: there is none;
 * or another -errno. On an error, @why has the reason. */
int debug_file_lines(struct debug_search *search, struct debug_lines *out,
		     char why[SYMBOLIZE_WHY_BYTES]);

#endif
