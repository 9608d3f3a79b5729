/* SPDX-License-Identifier: Apache-2.0
 *
 * plan_cache - plans of modules (code_plan.h), kept for the next recording,
 * because the start of a program waits until its code was read: about 80 ms for
 * each MB. One file for each build-id (cache_files.h). Any thread; the files
 * are the only state.
 *
 * A plan is reused only for the same file and by the same build of perfrec. The
 * patcher still compares each byte before it changes it (changes.h).
 */
#ifndef PERFREC_COLLECTOR_STATES_PLAN_CACHE_H
#define PERFREC_COLLECTOR_STATES_PLAN_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct code_plan;

/* Limits: bytes of a plan, files of the folder (the oldest are removed). */
#define PLAN_CACHE_BYTES_MAX (64u << 20)
#define PLAN_CACHE_FILES_MAX 64u

/* Identifies the file of a plan and the perfrec that made the plan. */
struct plan_key {
	uint64_t device, inode, size;
	int64_t changed[4]; /* mtime and ctime: seconds, ns */
	uint64_t perfrec[4]; /* inode, size and mtime of this program */
	uint64_t moves; /* 1: code_input.moves */
};

/* Sets *@key to the key of the file @fd, which is not O_PATH. @moves: as in
 * struct code_input. memcmp() can compare keys. Returns 0 or -errno. */
int plan_cache_key(int fd, bool moves, struct plan_key *key);

/* Sets *@out, which the caller frees, to the plan of the module with @build_id
 * and @key. Returns 0, -ENOENT without a plan of this file, -EBADMSG for an
 * invalid one, or another -errno of reading. */
int plan_cache_load(const char *build_id, const struct plan_key *key,
		    struct code_plan **out);
/* Stores @plan, which is ready. Returns 0, or -errno without any change
 * (-EINVAL: malformed build-id; -EFBIG: the plan is too large). */
int plan_cache_store(const char *build_id, const struct plan_key *key,
		     const struct code_plan *plan);

#endif
