/* SPDX-License-Identifier: Apache-2.0
 *
 * outer_ids - processes and threads of other pid namespaces: which id of ours
 * belongs to an id of theirs. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_OUTER_IDS_H
#define PERFREC_COLLECTOR_NAMES_OUTER_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "collector/base/lock.h"

/* Whether @pid, which calls itself as it should, is the one. */
typedef bool outer_ids_check(const void *context, pid_t pid);

/* A child of @parent that calls itself @inner, or 0. Reads a few files. */
pid_t outer_ids_child(pid_t parent, pid_t inner, outer_ids_check *check,
		      const void *context);
/* The same among all processes of the machine: takes milliseconds. */
pid_t outer_ids_any(pid_t inner, outer_ids_check *check, const void *context);

/* The threads of one process, as far as they have been seen. All zero is
 * valid, but for the lock. */
struct outer_threads {
	struct lock lock;
	struct outer_thread {
		pid_t outer, inner;
	} * thread; /* by outer */
	size_t count, room;
};

/* The thread of process @pid that calls itself @inner; 0: there is none. */
pid_t outer_ids_thread(struct outer_threads *threads, pid_t pid, pid_t inner);
void outer_ids_release(struct outer_threads *threads);

#endif
