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
 * The samples for each second of CPU time, of which each costs the program
 * @sample_ns (0: unknown), for a program that may become slower by the share
 * @budget (0 to 1; 0: there is no limit, and the rate is CPU_HZ_FREE). Samples
 * take a quarter of the budget. For the usual rate (CPU_HZ_USUAL) they take up
 * to half of it. 0: even CPU_RATE_LEAST samples would cost more than half of
 * the budget.
 */
uint32_t cpu_rate_for_budget(double budget, double sample_ns);

/* What is left of @budget for hooks when @hz samples a second cost @sample_ns
 * each (0: unknown): at least a quarter, as a budget of nothing would switch
 * off all. */
double cpu_rate_rest(double budget, uint32_t hz, double sample_ns);

#endif
