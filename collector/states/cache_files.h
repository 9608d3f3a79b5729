/* SPDX-License-Identifier: Apache-2.0
 *
 * cache_files - files that one recording leaves for the next: at most one of
 * each kind for each build-id, in the folder $XDG_CACHE_HOME/perfrec, or else
 * ~/.cache/perfrec. Any thread; no state but the files.
 *
 * A file is believed only if it is whole: a regular file of this user, of the
 * right kind, version and build-id, with the right checksum. Anything else is
 * as good as no file. A file is written whole or not at all.
 */
#ifndef PERFREC_COLLECTOR_STATES_CACHE_FILES_H
#define PERFREC_COLLECTOR_STATES_CACHE_FILES_H

#include <limits.h>
#include <stdint.h>

/* Days that a file is good for after it was last written. */
#define CACHE_FILE_DAYS 90

/* A file is a header with an array of items behind it, as this machine has them
 * in memory. */
struct cache_kind {
	const char *prefix; /* of the file's name; the build-id follows */
	const char *magic; /* 8 characters */
	uint32_t version;
	uint32_t item_bytes, items_max;
	uint32_t files_max; /* in the folder: the oldest go */
};

#define CACHE_PREFIX_MAX 16

/* Writes the path of the folder, which need not exist, to @path. -ENOENT: there
 * is no home. */
int cache_files_folder(char path[PATH_MAX]);

/*
 * Reads the file of @kind for @build_id, lower case hex. 0: the caller frees
 * *@items, an array of *@count; their values are not checked. -ENOENT: there is
 * no file. -EBADMSG: there is one, which is not to be believed. Other -errno:
 * it cannot be read. On an error *@items is NULL and *@count 0.
 */
int cache_file_load(const struct cache_kind *kind, const char *build_id,
		    void **items, uint32_t *count);
/* Writes or replaces the file for @build_id: @count items, at most items_max.
 * Drops files of @kind that are old or too many. 0, or -errno: nothing has
 * changed (-EINVAL: no build-id). */
int cache_file_store(const struct cache_kind *kind, const char *build_id,
		     const void *items, uint32_t count);
/* Removes all files of @kind from the folder, and no others. Sets *@removed to
 * how many there were. 0 or -errno. */
int cache_files_forget(const struct cache_kind *kind, unsigned int *removed);

#endif
