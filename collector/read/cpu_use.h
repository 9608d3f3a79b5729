/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_use - the number of CPUs that had threads of a trace, at any time. One thread
 * at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_CPU_USE_H
#define PERFREC_COLLECTOR_READ_CPU_USE_H

#include <stdint.h>

#include "collector/read/ramp.h"
#include "collector/read/trace_sched.h"

/* Adds each time of the @count threads @tids on a CPU to @running, with slope 1. 0
 * is no thread; sorts the others. Sets *@cpus to the number of CPUs that they used.
 * Returns 0, and the caller calls ramp_finish(); or -ENOMEM. */
int cpu_use_add(const struct trace_sched *sched, int64_t *tids, uint32_t count,
		struct budget *budget, struct ramp *running, uint32_t *cpus);

#endif
