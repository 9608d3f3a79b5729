/* SPDX-License-Identifier: Apache-2.0
 *
 * time_sums - checks that the times of a recording do not contradict each
 * other. The collector checks them when it ends a recording, `perfrec doctor
 * DIR` when it reads one. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_TIME_SUMS_H
#define PERFREC_COLLECTOR_OUTPUT_TIME_SUMS_H

#include <stdbool.h>
#include <stdint.h>

/* The tolerance of a sum: 1 / TIME_SUMS_PART of its bound, or TIME_SUMS_NS if
 * that is more. */
#define TIME_SUMS_PART 100u
#define TIME_SUMS_NS 5000000u

/* On-CPU times in ns, summed over all processes. */
struct time_sums {
	uint64_t functions_ns;
	uint64_t threads_ns; /* of threads with records */
	uint64_t stolen_ns; /* of these threads, taken by the host: functions_ns
			     * has it, threads_ns does not */
	uint64_t silent_ns; /* of threads without records */
	uint64_t cpu_ns; /* CPU time of all processes; 0: unknown */
};

/* The impossible part of each sum, in ns; 0: none. */
struct time_surplus {
	uint64_t functions_ns, threads_ns, silent_ns;
};

/*
 * Checks three bounds: functions ran no longer than their threads, threads no
 * longer than the CPU time of the processes, and silent threads no longer than
 * the rest of that CPU time. A sum beyond its bound and the tolerance has a
 * surplus, all above the bound. A sum loses its surplus before it becomes the
 * bound of another sum.
 */
struct time_surplus time_sums_check(const struct time_sums *sums);

/* Returns the CPU time for the bound, or 0. @waited_ns: getrusage() of the
 * processes that were waited for, without background processes. @sampled_ns:
 * the kernel's count of all processes, valid if @sampled. */
uint64_t time_sums_cpu_ns(uint64_t waited_ns, uint64_t sampled_ns,
			  bool sampled);

/* Returns true if @parts_ns, the times of a thread by state, add up to @wall_ns
 * within the tolerance. */
bool time_sums_make_up(uint64_t parts_ns, uint64_t wall_ns);

#endif
