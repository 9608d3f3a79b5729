/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_blocked - passes blocked threads from the samples to the thread that
 * reads their objects: cpu_take_blocked().
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_CPU_BLOCKED_H
#define PERFREC_COLLECTOR_SAMPLES_CPU_BLOCKED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_group;
struct samples;

/* Sums over all programs so far. */
struct cpu_wait_sums {
	uint64_t switches;
	uint64_t long_ns; /* ended waits of CPU_LONG_NS and more */
	uint64_t missed_ns; /* part that ended before anybody took them */
};

/* A thread in one of its waits. */
struct cpu_blocked {
	const struct cpu_group *group; /* only compared: it may be freed */
	pid_t pid, tid;
	uint64_t since_ns; /* BOOTTIME: start of the wait */
	bool is_short; /* set by the taker: shorter than CPU_LONG_NS */
	/* Samples of the process: a reference of the caller; NULL: none. */
	struct samples *samples;
	uint32_t generation; /* of the load map of the process */
};

#endif
