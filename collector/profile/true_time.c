/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/profile/true_time.h"

#include <stdbool.h>

#include "collector/profile/function_table.h"
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
	/* Programs write what is counted: it may be more than fits. */
	cost = MIN(cost - (double)measured_ns, (double)INT64_MAX);
	if (__builtin_add_overflow(*below_ns, (uint64_t)cost, below_ns))
		*below_ns = UINT64_MAX;
	return 0;
}

/* Whether all of the time of @total is that of calls, each of which did nothing
 * for perfrec but to be recorded. */
static bool is_plain_leaf(const struct function_total *total)
{
	const struct own_counts *own = &total->own_self;

	return own->inner >= TRUE_TIME_FIT_CALLS && !own->outer &&
	       !own->counted && !own->blocks && !own->heap_samples &&
	       !own->wait_ns;
}

double true_time_fit(struct own_costs *costs,
		     const struct function_total *totals, size_t count)
{
	double most = costs->inner_ns * TRUE_TIME_FIT_MAX, least = most;
	double factor = 1;
	int found = 0;

	for (size_t i = 0; i < count; i++) {
		const struct function_total *total = &totals[i];
		double mean = (double)total->measured_self_ns /
			      (double)MAX(total->own_self.inner, 1u);

		if (!is_plain_leaf(total) || mean >= most)
			continue;
		found++;
		least = MIN(least, mean);
	}
	if (found >= TRUE_TIME_FIT_FUNCTIONS && least > costs->inner_ns)
		factor = least / costs->inner_ns;
	costs->inner_ns *= factor;
	costs->outer_ns *= factor;
	return factor;
}
