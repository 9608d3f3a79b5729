/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_profile - writes cpu.pb.gz: the CPU time of all processes of a recording,
 * by stack.
 */
#ifndef PERFREC_COLLECTOR_FILES_CPU_PROFILE_H
#define PERFREC_COLLECTOR_FILES_CPU_PROFILE_H

#include <stdint.h>

struct cpu_sum;
struct recording;

/*
 * Write the file, if CPU time was to be sampled: once, when all processes have
 * ended and the sampler has counted their samples. @duration_ns is what the
 * recording has taken. Adds the CPU time of processes without a sample to the
 * totals of @recording, and sets *@sum to what is known of them, which the
 * caller frees; NULL: nothing. Sets *@bytes to the size of the file; 0: there
 * is none. Waits for files with symbols. 0 or -errno.
 */
int cpu_profile_write(struct recording *recording, uint64_t duration_ns,
		      struct cpu_sum **sum, uint64_t *bytes);

#endif
