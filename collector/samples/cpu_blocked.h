/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_blocked - a thread that is blocked, as samples tell of it, and whoever
 * reads what it waits on: cpu_take_blocked().
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_CPU_BLOCKED_H
#define PERFREC_COLLECTOR_SAMPLES_CPU_BLOCKED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_group;
struct samples;

/* Of all programs so far. */
struct cpu_wait_sums {
	uint64_t switches;
	uint64_t long_ns; /* of waits of CPU_LONG_NS and more that have ended */
	uint64_t missed_ns; /* of these: nobody has taken them */
};

/* A thread in one of its waits. */
struct cpu_blocked {
	const struct cpu_group *group; /* only compared: it may be gone */
	pid_t pid, tid;
	uint64_t since_ns; /* BOOTTIME: when the wait began */
	bool is_short; /* the taker's: it began less than CPU_LONG_NS ago */
	struct samples *samples; /* of the process: a reference, which is the
				  * caller's; NULL: none are taken */
	uint32_t generation; /* of the load map of the process */
};

#endif
