/* SPDX-License-Identifier: Apache-2.0
 *
 * gz_file - writes a gzipped file that appears whole or not at all: it has a
 * temporary name until it is finished. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_GZ_FILE_H
#define PERFREC_COLLECTOR_OUTPUT_GZ_FILE_H

#include <stddef.h>

struct bytes;
struct gz_file;

/* A file of the size of a block or two takes no more disk space without
 * compression, and 200 programs with --push write many of them. */
#define GZ_FILE_PLAIN_BYTES (8u << 10)

/* Creates the file @name (see own_files_create()) in the folder @dir_fd, which
 * stays the caller's and must stay open. If @name is NULL, @dir_fd is itself
 * the open, empty file, and is never renamed or removed. Returns 0, and the
 * caller ends *@out with gz_file_close(); or -errno. */
int gz_file_new(int dir_fd, const char *name, struct gz_file **out);
/* As gz_file_new(), but appends to @to, which must outlive the file. Up to
 * GZ_FILE_PLAIN_BYTES stay as they are. After an error @to may have a part. */
int gz_file_new_in(struct bytes *to, struct gz_file **out);
/* Compresses and writes @size bytes. Returns 0 or -errno. After an error every
 * call returns the same error. */
int gz_file_write(struct gz_file *file, const void *bytes, size_t size);
/* Finishes the file and renames it to its name. If a write failed or @err is
 * not 0, removes it. Sets *@file to NULL. Returns 0, @err or -errno. */
int gz_file_close(struct gz_file **file, int err);

#endif
