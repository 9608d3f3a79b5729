/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_stacks - all calling-context trees of one thread, copied, on their
 * way into a profile.
 */
#ifndef PERFREC_COLLECTOR_FILES_THREAD_STACKS_H
#define PERFREC_COLLECTOR_FILES_THREAD_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "collector/profile/profile.h"

struct cct_flat;
struct modules;
struct thread;

struct thread_stacks {
	struct profile_owner owner;
	struct modules *modules; /* a reference */
	struct cct_flat *flat; /* one for each stack of the thread */
	size_t count;
	uint64_t lost_calls; /* there was no memory to copy them */
};

/* Those of @thread as of @now_ns (see cct_flat_copy()). For whoever runs its
 * replay. What cannot be copied is counted. */
void thread_stacks_copy(struct thread *thread, uint64_t now_ns,
			struct thread_stacks *out);
/* Add them to @profile; what finds no room there is counted there. For the
 * jobs thread. */
void thread_stacks_add(const struct thread_stacks *stacks,
		       struct profile *profile);
void thread_stacks_release(struct thread_stacks *stacks);

#endif
