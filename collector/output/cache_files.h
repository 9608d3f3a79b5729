/* SPDX-License-Identifier: Apache-2.0
 *
 * cache_files - files that one recording keeps for the next: at most one of
 * each kind and build-id, in $XDG_CACHE_HOME/perfrec or ~/.cache/perfrec. Any
 * thread; the files are the only state.
 *
 * A file is valid if it is a regular file of this user with the right kind,
 * version, build-id and checksum. An invalid file counts as absent. A file is
 * written completely or not at all.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_CACHE_FILES_H
#define PERFREC_COLLECTOR_OUTPUT_CACHE_FILES_H

#include <limits.h>
#include <stdint.h>

/* Lifetime in days since the last write. */
#define CACHE_FILE_DAYS 90

/* A file is a header and an array of items in this machine's memory layout. */
struct cache_kind {
	const char *prefix; /* of the name; the build-id follows */
	const char *magic; /* 8 characters */
	uint32_t version;
	uint32_t item_bytes, items_max;
	uint32_t files_max; /* limit of files in the folder; the oldest are
			     * removed */
};

#define CACHE_PREFIX_MAX 16

/* The prefixes of all kinds (states_cache.c, plan_cache.c). */
#define CACHE_PREFIX_FUNCTIONS "functions-"
#define CACHE_PREFIX_PLANS "plan-"

/* Writes the path of the folder, which may not exist, to @path. Returns -ENOENT
 * without a home directory. */
int cache_files_folder(char path[PATH_MAX]);

/*
 * Reads the file of @kind for @build_id, lower case hex. Returns 0 with *@count
 * items in *@items, which the caller frees; their values are unchecked. Returns
 * -ENOENT without a file, -EBADMSG for an invalid file, or another -errno; then
 * *@items is NULL and *@count 0.
 */
int cache_file_load(const struct cache_kind *kind, const char *build_id,
		    void **items, uint32_t *count);
/* Writes or replaces the file for @build_id: @count items, at most items_max.
 * Removes files of @kind beyond the limits. Returns 0, or -errno without any
 * change (-EINVAL: malformed build-id). */
int cache_file_store(const struct cache_kind *kind, const char *build_id,
		     const void *items, uint32_t count);
/* Removes all files with @prefix, and no others. Sets *@removed to their
 * number. Returns 0 or -errno. */
int cache_files_forget(const char *prefix, unsigned int *removed);

#endif
