/* SPDX-License-Identifier: Apache-2.0
 *
 * family - the processes of an arena that have ended, as far as children of
 * theirs may still come: a child whose parent is gone before the child first
 * records starts with what its parent had. Bounded: the program that said
 * hello, and the FAMILY_MAX that ended last of those that called fork().
 *
 * All calls are for who holds the arena's lock.
 */
#ifndef PERFREC_COLLECTOR_RECORD_FAMILY_H
#define PERFREC_COLLECTOR_RECORD_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FAMILY_MAX 64
#define FAMILY_NAME_BYTES 16

struct modules;
struct tracks;

/* A process whose child one may be: it runs, or has ended. */
struct kin {
	pid_t pid; /* in our namespace; may be used again if it has ended */
	pid_t inner_pid; /* as it saw itself */
	bool foreign; /* its pid namespace is not ours */
	char name[FAMILY_NAME_BYTES];
	struct modules *modules;
	struct tracks *tracks;
};

/* All zero is an empty one. */
struct family {
	struct kin root; /* what said hello; modules NULL: it has not ended */
	struct kin ended[FAMILY_MAX]; /* the oldest is replaced */
	size_t count; /* ever put into ended */
};

/* Keep what children of the program that said hello, which has ended, start
 * with. Takes references of its own. */
void family_keep_root(struct family *family, const struct kin *root);
/* The same for a child that had called fork(), and has ended. */
void family_keep(struct family *family, const struct kin *ended);

/* The last that ended of those that called themselves @inner_pid, or NULL. */
const struct kin *family_find(const struct family *family, pid_t inner_pid);

/* Any of them, the root first; NULL: there is none. */
const struct kin *family_any(const struct family *family);

void family_release(struct family *family);

#endif
