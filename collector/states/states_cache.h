/* SPDX-License-Identifier: Apache-2.0
 *
 * states_cache - what --overhead has learned about the functions of a module,
 * kept from one recording to the next, in a file for each build-id
 * (cache_files.h). Any thread; no state but the files. A failed write loses
 * this knowledge, and nothing else.
 */
#ifndef PERFREC_COLLECTOR_STATES_STATES_CACHE_H
#define PERFREC_COLLECTOR_STATES_STATES_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/states/controller.h"

/* Limits: functions of a file, files of the folder (the oldest go). */
#define STATES_CACHE_FUNCTIONS_MAX 65536u
#define STATES_CACHE_FILES_MAX 256u

struct states_cache_function {
	uint64_t offset; /* of its first instruction: address in the ELF file */
	struct controller_known known;
};

struct states_cache_list {
	struct states_cache_function *functions; /* by offset, each once */
	size_t count;
};

/*
 * Reads what is known of the module with @build_id, lower case hex. 0: @list is
 * the caller's, who ends it with states_cache_release(). -ENOENT: nothing is
 * known. -EBADMSG: there is a file, which is not to be believed. Other -errno:
 * it cannot be read. On an error @list is empty.
 */
int states_cache_load(const char *build_id, struct states_cache_list *list);
void states_cache_release(struct states_cache_list *list);

/*
 * Keeps @count functions of the module with @build_id in place of what was
 * known, and drops files that are old or too many. @functions is sorted by
 * offset here. What is beyond the limit is left out. 0, or -errno: nothing has
 * changed (-EINVAL: no build-id).
 */
int states_cache_store(const char *build_id,
		       struct states_cache_function *functions, size_t count);

/* Removes all files of this module from the folder, and no others. Sets
 * *@removed to how many there were. 0 or -errno. */
int states_cache_forget(unsigned int *removed);

#endif
