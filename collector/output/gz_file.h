/* SPDX-License-Identifier: Apache-2.0
 *
 * gz_file - a gzipped file that is there whole or not at all: it has another
 * name until it is finished. Written as it comes, in one thread.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_GZ_FILE_H
#define PERFREC_COLLECTOR_OUTPUT_GZ_FILE_H

#include <stddef.h>

struct gz_file;

/* To be @name (see own_files_create()) in @dir_fd, which stays the caller's and
 * must stay open. 0 or -errno. */
int gz_file_new(int dir_fd, const char *name, struct gz_file **out);
/* 0 or -errno, the same from then on. */
int gz_file_write(struct gz_file *file, const void *bytes, size_t size);
/*
 * Clears *@file. If all writes succeeded, and @err is 0, the file is finished
 * and gets its name; else it is removed. Returns 0, @err or -errno.
 */
int gz_file_close(struct gz_file **file, int err);

#endif
