/* SPDX-License-Identifier: Apache-2.0
 *
 * span_profile - the trees of threads on their way into span.pb.gz, whose
 * stacks have calls, time and samples from here, and blocks from heap_files.h.
 */
#ifndef PERFREC_COLLECTOR_FILES_SPAN_PROFILE_H
#define PERFREC_COLLECTOR_FILES_SPAN_PROFILE_H

struct stack_profile;
struct thread_stacks;

/* Add @stacks to @profile (of stack_profile_span). What finds no room is
 * counted there, or in the wall profile, which is made of the same. For the
 * jobs thread. */
void span_profile_add(struct stack_profile *profile,
		      const struct thread_stacks *stacks);

#endif
