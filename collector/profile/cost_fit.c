/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/profile/cost_fit.h"

#include <stdbool.h>
#include <stdint.h>

#include "collector/profile/function_table.h"
#include "collector/profile/true_time.h"
#include "shared/compiler.h"

/* Whether all of the time of @total is that of calls, each of which did nothing
 * for perfrec but to be recorded. */
static bool is_plain_leaf(const struct function_total *total)
{
	const struct own_counts *own = &total->own_self;

	return own->inner >= COST_FIT_CALLS && !own->outer && !own->counted &&
	       !own->blocks && !own->heap_samples && !own->wait_ns;
}

double cost_fit(struct own_costs *costs, const struct function_total *totals,
		size_t count)
{
	double most = costs->least_ns * COST_FIT_MAX, least = most;
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
	if (found >= COST_FIT_FUNCTIONS && least > costs->least_ns)
		factor = least / costs->least_ns;
	costs->inner_ns *= factor;
	costs->outer_ns *= factor;
	costs->least_ns *= factor;
	return factor;
}

/* By what a cost must be multiplied: @samples say that it is @ns in all, and
 * nobody's sample that it is @expected_ns. */
static double blend(double samples, double ns, double expected_ns)
{
	double factor = 1;

	if (expected_ns > 0)
		factor = (COST_FIT_PRIOR + samples * (ns / expected_ns)) /
			 (COST_FIT_PRIOR + samples);
	return MIN(MAX(factor, COST_FIT_SAMPLED_MIN), COST_FIT_SAMPLED_MAX);
}

double cost_fit_sampled(struct own_costs *costs,
			const struct own_counts *counts,
			const struct cost_sampled *sampled)
{
	const struct own_counts in_library = { .inner = counts->inner,
					       .outer = counts->outer,
					       .blocks = counts->blocks };
	double calls = (double)counts->inner + (double)counts->counted;
	double in_thunks = sampled->thunks.ns / MAX(calls, 1);
	double ns, factor;

	ns = sampled->library.ns + in_thunks * (double)counts->inner -
	     costs->heap_sample_ns * (double)counts->heap_samples;
	factor = blend((double)sampled->library.samples, ns,
		       true_time_cost(costs, &in_library));
	costs->inner_ns *= factor;
	costs->outer_ns *= factor;
	costs->least_ns *= factor;
	costs->block_ns *= factor;
	costs->counted_ns *= blend((double)sampled->thunks.samples, in_thunks,
				   costs->counted_ns);
	return factor;
}
