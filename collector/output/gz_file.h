/* SPDX-License-Identifier: Apache-2.0
 *
 * gz_file - a gzipped file that is there whole or not at all: it has another
 * name until it is finished. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_GZ_FILE_H
#define PERFREC_COLLECTOR_OUTPUT_GZ_FILE_H

#include <stddef.h>

struct gz_file;

/* Begins the file @name (see own_files_create()) in the folder @dir_fd, which
 * stays the caller's and must stay open. The caller ends *@out with
 * gz_file_close(). 0 or -errno. */
int gz_file_new(int dir_fd, const char *name, struct gz_file **out);
/* Compresses and writes @size bytes. 0 or -errno; after an error every call
 * returns the same one. */
int gz_file_write(struct gz_file *file, const void *bytes, size_t size);
/* Finishes the file, which then gets its name; or removes it, if a write failed
 * or @err is not 0. Sets *@file to NULL. Returns 0, @err or -errno. */
int gz_file_close(struct gz_file **file, int err);

#endif
