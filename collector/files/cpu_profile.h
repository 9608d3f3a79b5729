/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_profile - cpu.pb.gz: what the sampler has counted of all processes of a
 * recording.
 */
#ifndef PERFREC_COLLECTOR_FILES_CPU_PROFILE_H
#define PERFREC_COLLECTOR_FILES_CPU_PROFILE_H

#include <stdint.h>

struct recording;

/*
 * Write it, if CPU time was to be sampled, once all processes have ended and
 * the sampler has dealt with their samples. @start_ns and @duration_ns as in
 * stack_profile.h; *@bytes is its size, 0: there is none. Reads files. 0 or
 * -errno.
 */
int cpu_profile_write(struct recording *recording, uint64_t start_ns,
		      uint64_t duration_ns, uint64_t *bytes);

#endif
