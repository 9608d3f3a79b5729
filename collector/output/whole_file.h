/* SPDX-License-Identifier: Apache-2.0
 *
 * whole_file - a file that a person named, which is there whole or not at all:
 * until it is finished it has another name in the same folder. What is there
 * under its name and is no plain file (/dev/null, a pipe) is written to as it
 * is. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_WHOLE_FILE_H
#define PERFREC_COLLECTOR_OUTPUT_WHOLE_FILE_H

#include <stdio.h>

struct whole_file {
	FILE *out;
	char *path, *temporary; /* temporary NULL: it is written in place */
};

/* Makes a new file beside @path, with the mode that open(2) gives it, and sets
 * *@name to its name, which the caller frees. Returns a descriptor, or -errno,
 * and then *@name is NULL. Any thread. */
int whole_file_draft(const char *path, char **name);

/* Begins the file at @path. 0: the caller writes to out->out and ends it by
 * whole_file_close(); or -errno, and *@out is as it was. */
int whole_file_open(const char *path, struct whole_file *out);
/* Finishes the file, which then gets its name; or removes it, if something
 * could not be written or @err is not 0. Returns 0, @err or -errno. */
int whole_file_close(struct whole_file *file, int err);

#endif
