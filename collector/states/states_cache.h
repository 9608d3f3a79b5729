/* SPDX-License-Identifier: Apache-2.0
 *
 * states_cache - knowledge of --overhead about the functions of a module, kept
 * for the next recording in a file for each build-id (cache_files.h). Any
 * thread; the files are the only state. A failed write loses only this
 * knowledge.
 */
#ifndef PERFREC_COLLECTOR_STATES_STATES_CACHE_H
#define PERFREC_COLLECTOR_STATES_STATES_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/states/controller.h"

/* Limits: functions of a file, files of the folder (the oldest are removed). */
#define STATES_CACHE_FUNCTIONS_MAX 65536u
#define STATES_CACHE_FILES_MAX 256u

struct states_cache_function {
	uint64_t offset; /* of the first instruction: address in the ELF file */
	struct controller_known known;
};

struct states_cache_list {
	struct states_cache_function *functions; /* sorted by offset, without
						  * duplicates */
	size_t count;
};

/*
 * Reads the knowledge about the module with @build_id, lower case hex. Returns
 * 0, and the caller ends @list with states_cache_release(); -ENOENT without a
 * file, -EBADMSG for an invalid one, or another -errno of reading. On an error
 * @list is empty.
 */
int states_cache_load(const char *build_id, struct states_cache_list *list);
void states_cache_release(struct states_cache_list *list);

/*
 * Replaces the knowledge about the module with @build_id by @count functions,
 * at most the limit, and removes files beyond the limits. Sorts @functions by
 * offset. Returns 0, or -errno without any change (-EINVAL: malformed
 * build-id).
 */
int states_cache_store(const char *build_id,
		       struct states_cache_function *functions, size_t count);

#endif
