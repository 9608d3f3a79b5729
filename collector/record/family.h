/* SPDX-License-Identifier: Apache-2.0
 *
 * family - the facts about ended processes of an arena that may still have
 * children. If a parent ends before its child first records, the child starts
 * with its parent's state. Bounded: the program that said hello, and the last
 * FAMILY_MAX ended children that had called fork().
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

/* A possible parent of a new child, running or ended. */
struct kin {
	pid_t pid; /* in our namespace; may be reused after the end */
	pid_t inner_pid; /* in its own namespace */
	bool foreign; /* its pid namespace is not ours */
	char name[FAMILY_NAME_BYTES];
	struct modules *modules;
	struct tracks *tracks;
};

/* All zero is an empty family. */
struct family {
	struct kin root; /* said hello; modules NULL: not ended */
	struct kin ended[FAMILY_MAX]; /* the oldest is replaced */
	size_t count; /* ever added to ended */
};

/* Keeps the ended program that said hello, for its children. Takes references
 * of its own. */
void family_keep_root(struct family *family, const struct kin *root);
/* The same for an ended child that had called fork(). */
void family_keep(struct family *family, const struct kin *ended);

/* Returns the last ended process with the inner id @inner_pid, or NULL. Valid
 * until the lock is released. */
const struct kin *family_find(const struct family *family, pid_t inner_pid);

/* Returns the root, else any kept process, or NULL. */
const struct kin *family_any(const struct family *family);

void family_release(struct family *family);

#endif
