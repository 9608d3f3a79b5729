/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_rate - how many samples of CPU time a second a budget has room for. Pure
 * code.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_CPU_RATE_H
#define PERFREC_COLLECTOR_OPTIONS_CPU_RATE_H

#include <stdint.h>

#define CPU_RATE_LEAST 10u
#define CPU_RATE_MOST 1000u

/*
 * Returns the samples per second of CPU time for a program that may become
 * slower by the share @budget (0 to 1; 0: no limit, the rate is CPU_HZ_FREE).
 * A sample costs the program @sample_ns (0: unknown). Samples take a quarter of
 * the budget, or up to half of it to reach the usual rate (CPU_HZ_USUAL).
 * Returns 0 if even CPU_RATE_LEAST samples would take more than half.
 */
uint32_t cpu_rate_for_budget(double budget, double sample_ns);

/* Returns the part of @budget that @hz samples a second, at @sample_ns each (0:
 * unknown), leave for hooks. It is at least a quarter, because a budget of 0
 * would switch off all functions. */
double cpu_rate_rest(double budget, uint32_t hz, double sample_ns);

#endif
