/* SPDX-License-Identifier: Apache-2.0
 *
 * span_profile - adds the trees of threads to span.pb.gz: calls, wall time and
 * CPU samples of each stack. heap_files.h adds the blocks of each stack.
 */
#ifndef PERFREC_COLLECTOR_FILES_SPAN_PROFILE_H
#define PERFREC_COLLECTOR_FILES_SPAN_PROFILE_H

struct stack_profile;
struct thread_stacks;

/* Adds @stacks, which stay the caller's, to @profile, of the kind
 * stack_profile_span. @profile, or the wall profile with the same stacks,
 * counts stacks without room. Jobs thread. */
void span_profile_add(struct stack_profile *profile,
		      const struct thread_stacks *stacks);

#endif
