/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_stacks - a copy of all calling-context trees of one thread, which the
 * jobs thread adds to profiles.
 */
#ifndef PERFREC_COLLECTOR_FILES_THREAD_STACKS_H
#define PERFREC_COLLECTOR_FILES_THREAD_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/profile/stack_profile.h"

struct cct_flat;
struct modules;
struct states_calls;
struct thread;

struct thread_stacks {
	struct profile_owner owner;
	struct modules *modules; /* a reference */
	struct cct_flat *flat; /* a tree for each stack of the thread */
	size_t count;
	bool sched; /* what the kernel told is in them */
	uint64_t lost_calls; /* of trees that found no memory for a copy */
};

/* The functions in @calls (@count of them) were called so often by @thread: in
 * its trees and in copies of them, calls that were only counted are counted
 * from now on. The drain worker of @thread, or the jobs thread when @thread has
 * ended. */
void thread_stacks_set_calls(struct thread *thread,
			     const struct states_calls *calls, size_t count);
/* Copy the trees of @thread, as they are at @now_ns (see cct_flat_copy()). The
 * caller is the drain worker of @thread, and ends *@out with
 * thread_stacks_release(). Calls that cannot be copied are counted. */
void thread_stacks_copy(struct thread *thread, uint64_t now_ns,
			struct thread_stacks *out);
/* Adds @stacks to @profile, which counts stacks without room. Jobs thread. */
void thread_stacks_add(const struct thread_stacks *stacks,
		       struct stack_profile *profile);
/* Free what @stacks has, but not @stacks. Any thread. */
void thread_stacks_release(struct thread_stacks *stacks);

#endif
