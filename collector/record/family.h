/* SPDX-License-Identifier: Apache-2.0
 *
 * family - what is kept of processes of an arena that have ended and that may
 * still have children: a child whose parent has ended before the child first
 * records starts with what its parent had. It is bounded: it has the program
 * that said hello, and of the children that had called fork() the FAMILY_MAX
 * that ended last.
 *
 * All calls are made under the lock of the arena.
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

/* A possible parent of a child that is met: it runs, or has ended. */
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
	struct kin root; /* that said hello; modules NULL: it has not ended */
	struct kin ended[FAMILY_MAX]; /* the oldest is replaced */
	size_t count; /* ever put into ended */
};

/* Keep what children of the program that said hello, which has ended, start
 * with. Takes references of its own. */
void family_keep_root(struct family *family, const struct kin *root);
/* The same for a child that had called fork(), and has ended. */
void family_keep(struct family *family, const struct kin *ended);

/* Of the processes that called themselves @inner_pid, the one that ended last;
 * or NULL. Valid until the lock is released. */
const struct kin *family_find(const struct family *family, pid_t inner_pid);

/* Any of them, if there is one the root; NULL: there is none. */
const struct kin *family_any(const struct family *family);

/* Give all references back. */
void family_release(struct family *family);

#endif
