/* SPDX-License-Identifier: Apache-2.0
 *
 * outer_ids - finds the ids that processes and threads of other pid namespaces
 * have in the collector's namespace (outer ids), from the ids that they have in
 * their own (inner ids). Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_OUTER_IDS_H
#define PERFREC_COLLECTOR_NAMES_OUTER_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "collector/base/lock.h"

/* Whether process @pid, whose inner id is the wanted one, is the one. */
typedef bool outer_ids_check(const void *context, pid_t pid);

/* The child of process @parent (an outer id) that has the inner id @inner and
 * that @check, called with @context, accepts. 0: there is none. Reads a few
 * files. */
pid_t outer_ids_child(pid_t parent, pid_t inner, outer_ids_check *check,
		      const void *context);
/* The same among all processes of the machine. Takes milliseconds. */
pid_t outer_ids_any(pid_t inner, outer_ids_check *check, const void *context);

/* The threads of one process that have been seen. At first all is zero but the
 * lock, which the caller initializes. */
struct outer_threads {
	struct lock lock;
	struct outer_thread {
		pid_t outer, inner;
	} * thread; /* by outer */
	size_t count, room;
};

/* The outer id of the thread of process @pid that has the inner id @inner; 0:
 * there is none. */
pid_t outer_ids_thread(struct outer_threads *threads, pid_t pid, pid_t inner);
/* Frees the list. */
void outer_ids_release(struct outer_threads *threads);

#endif
