/* SPDX-License-Identifier: Apache-2.0
 *
 * profile - all calling-context trees of a recording, merged, and written as
 * pprof: wall.pb.gz with calls/count and wall/nanoseconds.
 *
 * Functions are told apart by module, build-id and address in the module, so
 * processes that run the same file share them and equal names in two modules
 * do not. Stacks are told apart by process and thread name as well (labels).
 */
#ifndef PERFREC_COLLECTOR_PROFILE_PROFILE_H
#define PERFREC_COLLECTOR_PROFILE_PROFILE_H

#include <stdint.h>
#include <sys/types.h>

struct budget;
struct cct_flat;
struct modules;
struct profile;
struct symbol_cache;

/* A stack that is deeper is written as its outermost functions, one called
 * "[truncated]", and the innermost. */
#define PROFILE_DEPTH_MAX 512

/* Whose stacks: they become labels of its samples. Threads of one process
 * with the same name share their samples, which then have no tid. */
struct profile_owner {
	pid_t pid, tid;
	char process[16], thread[16];
};

/* @budget bounds its memory and must outlive it. 0 or -ENOMEM. */
int profile_new(struct symbol_cache *cache, struct budget *budget,
		struct profile **out);
/* Also for NULL. */
void profile_free(struct profile **profile);

/* Of these, and profile_write(), one at a time: the jobs thread. They read
 * files. */

/* Add what @owner did. 0, or -ENOMEM: the rest of it is counted as lost. */
int profile_add(struct profile *profile, const struct profile_owner *owner,
		const struct cct_flat *flat, struct modules *modules);
/* What could not even be copied for profile_add(). */
void profile_add_lost(struct profile *profile, uint64_t calls);
/* Add all that is in @from, of the same cache. As profile_add(). */
int profile_merge(struct profile *profile, const struct profile *from);

struct profile_header {
	uint64_t start_ns; /* UNIX time */
	uint64_t duration_ns;
	uint64_t lost_spans; /* become a comment, as does what memory lost */
	const char *command; /* NULL: none */
};

/* Write it, gzipped, to @name in @dir_fd: under another name first, so that
 * it is there whole or not at all. File and line of functions come from
 * debug information, as far as there is any. 0 or -errno. */
int profile_write(struct profile *profile, const struct profile_header *header,
		  int dir_fd, const char *name);

#endif
