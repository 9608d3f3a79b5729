/* SPDX-License-Identifier: Apache-2.0
 *
 * outer_ids - converts ids of other pid namespaces (inner ids) to ids in the
 * collector's namespace (outer ids). Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_OUTER_IDS_H
#define PERFREC_COLLECTOR_NAMES_OUTER_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "collector/base/lock.h"

typedef bool outer_ids_check(const void *context, pid_t pid);

/* Returns the child of @parent (outer) with the inner id @inner, or 0. */
pid_t outer_ids_child(pid_t parent, pid_t inner, outer_ids_check *check,
		      const void *context);
/* Among all processes. Takes milliseconds. */
pid_t outer_ids_any(pid_t inner, outer_ids_check *check, const void *context);

/* Initialize to zero, and the lock. */
struct outer_threads {
	struct lock lock;
	struct outer_thread {
		pid_t outer, inner;
	} * thread; /* sorted by outer */
	size_t count, room;
};

/* Returns 0 for an unknown thread. */
pid_t outer_ids_thread(struct outer_threads *threads, pid_t pid, pid_t inner);
void outer_ids_release(struct outer_threads *threads);

#endif
