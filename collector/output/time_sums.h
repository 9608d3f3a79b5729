/* SPDX-License-Identifier: Apache-2.0
 *
 * time_sums - the times of a recording that must not contradict each other.
 * The collector checks them when it ends a recording, `perfrec doctor DIR` when
 * it reads one. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_TIME_SUMS_H
#define PERFREC_COLLECTOR_OUTPUT_TIME_SUMS_H

#include <stdbool.h>
#include <stdint.h>

/* How far a sum may exceed its bound: 1 / TIME_SUMS_PART of it, or
 * TIME_SUMS_NS. */
#define TIME_SUMS_PART 100u
#define TIME_SUMS_NS 5000000u

/* On-CPU times in ns, summed over all processes. */
struct time_sums {
	uint64_t functions_ns;
	uint64_t threads_ns; /* that have recorded something */
	uint64_t stolen_ns; /* of these, by the host: in functions_ns only */
	uint64_t silent_ns; /* threads that have recorded nothing */
	uint64_t cpu_ns; /* CPU time of all processes; 0: not known */
};

/* The part of each sum that cannot be, in ns; 0: none. */
struct time_surplus {
	uint64_t functions_ns, threads_ns, silent_ns;
};

/*
 * Compares @sums: functions ran no longer than their threads, threads no longer
 * than the CPU time of the processes, and silent threads no longer than the
 * rest of that. A sum that is too large by more than the tolerance has all
 * above its bound as its surplus. A sum loses its surplus before it becomes the
 * bound of another.
 */
struct time_surplus time_sums_check(const struct time_sums *sums);

/* The CPU time that is a bound, or 0. @waited_ns: getrusage() of the processes
 * that were waited for, which lacks those in the background. @sampled_ns: what
 * the kernel counted of all, where it samples CPU time (@sampled). */
uint64_t time_sums_cpu_ns(uint64_t waited_ns, uint64_t sampled_ns,
			  bool sampled);

/* Whether @parts_ns, the times of a thread by its states, make up @wall_ns
 * within the tolerance. */
bool time_sums_make_up(uint64_t parts_ns, uint64_t wall_ns);

#endif
