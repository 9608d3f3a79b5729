/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_rate - see cpu_rate.h.
 */
#include "collector/options/cpu_rate.h"

#include "collector/options/limits.h"
#include "shared/compiler.h"

#define SECOND_NS 1e9
/* The estimate before a sample was measured. */
#define SAMPLE_NS 25e3

static double known_ns(double sample_ns)
{
	return sample_ns > 0 ? sample_ns : SAMPLE_NS;
}

uint32_t cpu_rate_for_budget(double budget, double sample_ns)
{
	double per_second = SECOND_NS / known_ns(sample_ns);
	double quarter, half;
	uint32_t hz;

	if (budget <= 0)
		return CPU_HZ_FREE;
	quarter = MIN(budget / 4 * per_second, (double)CPU_RATE_MOST);
	half = MIN(budget / 2 * per_second, (double)CPU_HZ_USUAL);
	hz = (uint32_t)(MAX(quarter, half) + 0.5);
	return hz < CPU_RATE_LEAST ? 0 : hz;
}

double cpu_rate_rest(double budget, uint32_t hz, double sample_ns)
{
	return MAX(budget - hz * known_ns(sample_ns) / SECOND_NS, budget / 4);
}
