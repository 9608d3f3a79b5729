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
 * Writes the file if CPU time is sampled: once, when all processes have ended
 * and the sampler has counted their samples. @duration_ns is the duration of
 * the recording. Adds the CPU time of processes without a sample to the totals
 * of @recording, and sets *@sum to their times, which the caller frees; NULL if
 * there are none. Sets *@bytes to the size of the file; 0 if there is none.
 * Waits for files with symbols. Returns 0 or -errno.
 */
int cpu_profile_write(struct recording *recording, uint64_t duration_ns,
		      struct cpu_sum **sum, uint64_t *bytes);

#endif
