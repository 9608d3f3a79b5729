/* SPDX-License-Identifier: Apache-2.0
 *
 * debug_file - finds the file with the debug information of a module that was
 * stripped. The file must have the build-id of the module; if one of the two
 * has no build-id, it must have the checksum that the module names. Any thread.
 * Opens files and may read them, and debuginfod may take seconds: not for drain
 * threads.
 */
#ifndef PERFREC_COLLECTOR_NAMES_DEBUG_FILE_H
#define PERFREC_COLLECTOR_NAMES_DEBUG_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "collector/names/reader.h"
#include "collector/names/symbolize.h"

struct debug_search {
	struct readers *readers; /* what reads the files, for ... */
	uid_t uid; /* ... the user whose program has the module */
	int fd; /* the module */
	const char *path; /* of the module, below the root of its process */
	int root_fd; /* that root, if it is not ours; -1: it is */
	bool was_told; /* that a file does not fit: it is said only once. Set by
			* these functions; the caller keeps it */
};

/*
 * Finds a file with the .symtab of a module that has none. Looks into
 * /usr/lib/debug/.build-id and where .gnu_debuglink says, first in the root of
 * the process and then in ours. If it finds none, it takes the packed table
 * that the module itself may have (mini_debug.h). Returns 0 with the place in
 * *@out, whose descriptor the caller closes; or -ENOENT.
 */
int debug_file_symbols(struct debug_search *search, struct reader_symtab *out);

struct debug_lines { /* descriptors; the caller's */
	int fd; /* the file with the debug information; may be O_PATH */
	int alt_fd; /* what dwz moved out of that, the same; -1: nothing */
};

/*
 * Finds the debug information of a module: in the module itself; or in a file,
 * as above; or, if the user has set DEBUGINFOD_URLS, from one of these servers.
 * Returns 0, with descriptors in *@out; -ENODATA: there is none; or another
 * -errno. A reason for a person is then in @why.
 */
int debug_file_lines(struct debug_search *search, struct debug_lines *out,
		     char why[SYMBOLIZE_WHY_BYTES]);

#endif
