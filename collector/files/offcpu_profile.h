/* SPDX-License-Identifier: Apache-2.0
 *
 * offcpu_profile - writes offcpu.pb.gz: the waits of all processes of a
 * recording, by stack and object.
 */
#ifndef PERFREC_COLLECTOR_FILES_OFFCPU_PROFILE_H
#define PERFREC_COLLECTOR_FILES_OFFCPU_PROFILE_H

#include <stdint.h>

struct recording;
struct thread_stacks;

/* Add the waits of @stacks, which stay the caller's, that were not read: by the
 * calls that they were in, below the object of short waits of the same call, or
 * a frame "[unknown]". @recording has the profile offcpu_rest. Jobs thread. */
void offcpu_profile_add_rest(struct recording *recording,
			     const struct thread_stacks *stacks);

/*
 * Write the file, if waits were recorded and there were any: once, when all
 * processes have ended and the sampler has counted their waits. @duration_ns is
 * what the recording has taken. Sets *@bytes to the size of the file; 0: there
 * is none. Waits for files with symbols. 0 or -errno.
 */
int offcpu_profile_write(struct recording *recording, uint64_t duration_ns,
			 uint64_t *bytes);

#endif
