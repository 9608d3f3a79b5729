/* SPDX-License-Identifier: Apache-2.0
 *
 * whole_file - writes a file named by the user, which appears whole or not at
 * all: it has a temporary name in the same folder until it is finished. A path
 * that is not a plain file (/dev/null, a pipe) is written in place. One thread
 * at a time.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_WHOLE_FILE_H
#define PERFREC_COLLECTOR_OUTPUT_WHOLE_FILE_H

#include <stdio.h>

struct whole_file {
	FILE *out;
	char *path, *temporary; /* @temporary NULL: written in place */
};

/* Makes a new file beside @path, with the mode that open(2) and the umask give,
 * and sets *@name to its name, which the caller frees. Returns a descriptor; or
 * -errno, and *@name is NULL. Any thread. */
int whole_file_draft(const char *path, char **name);

/* Opens the file at @path. Returns 0, and the caller writes to out->out and
 * ends with whole_file_close(); or -errno, and *@out is unchanged. */
int whole_file_open(const char *path, struct whole_file *out);
/* Finishes the file and renames it to its name. If a write failed or @err is
 * not 0, removes it. Returns 0, @err or -errno. */
int whole_file_close(struct whole_file *file, int err);

#endif
