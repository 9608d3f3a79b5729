/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/profile/true_time.h"

#include "shared/compiler.h"

double true_time_cost(const struct own_costs *costs,
		      const struct own_counts *counts)
{
	return costs->inner_ns * (double)counts->inner +
	       costs->outer_ns * (double)counts->outer +
	       costs->counted_ns * (double)counts->counted +
	       costs->block_ns * (double)counts->blocks +
	       costs->heap_sample_ns * (double)counts->heap_samples +
	       costs->cpu_sample_ns * (double)counts->cpu_samples +
	       (double)counts->wait_ns;
}

int64_t true_time(int64_t measured_ns, const struct own_costs *costs,
		  const struct own_counts *counts, uint64_t *below_ns)
{
	double cost = true_time_cost(costs, counts);

	if (measured_ns <= 0)
		return measured_ns;
	if (cost <= (double)measured_ns)
		return MIN(measured_ns, measured_ns - (int64_t)cost);
	/* Programs write these counts, so the cost may overflow. */
	cost = MIN(cost - (double)measured_ns, (double)INT64_MAX);
	if (__builtin_add_overflow(*below_ns, (uint64_t)cost, below_ns))
		*below_ns = UINT64_MAX;
	return 0;
}
