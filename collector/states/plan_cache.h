/* SPDX-License-Identifier: Apache-2.0
 *
 * plan_cache - plans of modules (code_plan.h), kept from one recording to the
 * next: a program waits with its start until its code has been read, about 80
 * ms for each MB. A file for each build-id (cache_files.h). Any thread; no
 * state but the files.
 *
 * A plan is used again only for the very file that it was made of, by the same
 * build of perfrec. The patcher still compares each byte before it changes it
 * (changes.h).
 */
#ifndef PERFREC_COLLECTOR_STATES_PLAN_CACHE_H
#define PERFREC_COLLECTOR_STATES_PLAN_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct code_plan;

/* Limits: bytes of a plan, files of the folder (the oldest go). */
#define PLAN_CACHE_BYTES_MAX (16u << 20)
#define PLAN_CACHE_FILES_MAX 64u

/* Identifies the file of a plan and the perfrec that made it. */
struct plan_key {
	uint64_t device, inode, size;
	int64_t changed[4]; /* mtime and ctime: seconds, ns */
	uint64_t perfrec[4]; /* inode, size and mtime of this program */
};

/* Writes the key of the file behind @fd, which is not O_PATH, to *@key.
 * memcmp() can compare keys. 0 or -errno. */
int plan_cache_key(int fd, struct plan_key *key);

/* The plan of the module with @build_id and @key, into *@out, which the caller
 * frees. -ENOENT: none is known, or it is that of another file. -EBADMSG: there
 * is one, which is not to be believed. Other -errno: it cannot be read. */
int plan_cache_load(const char *build_id, const struct plan_key *key,
		    struct code_plan **out);
/* Keeps @plan, which is ready. 0, or -errno: nothing has changed (-EINVAL: no
 * build-id; -EFBIG: the plan is too large). */
int plan_cache_store(const char *build_id, const struct plan_key *key,
		     const struct code_plan *plan);
/* Removes all plans. 0 or -errno. */
int plan_cache_forget(void);

#endif
