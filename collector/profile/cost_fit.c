/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/profile/cost_fit.h"

#include <stdbool.h>
#include <stdint.h>

#include "collector/profile/function_table.h"
#include "collector/profile/true_time.h"
#include "shared/compiler.h"

/* Returns true if all time of @total is calls whose only event is the call
 * itself. */
static bool is_plain_leaf(const struct function_total *total)
{
	const struct own_counts *own = &total->own_self;

	return !own->outer && !own->counted && !own->blocks &&
	       !own->heap_samples && !own->wait_ns;
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

		if (total->own_self.inner < COST_FIT_CALLS ||
		    !is_plain_leaf(total) || mean >= most)
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

double cost_fit_sampled(struct own_costs *costs,
			const struct own_counts *counts,
			const struct cost_sampled *sampled)
{
	const struct own_counts in_library = { .inner = counts->inner,
					       .outer = counts->outer,
					       .blocks = counts->blocks };
	double calls = (double)counts->inner + (double)counts->counted;
	double in_thunks = sampled->thunks.ns / MAX(calls, 1);
	double samples = (double)sampled->library.samples;
	double expected_ns = true_time_cost(costs, &in_library);
	double ns, factor = 1;

	ns = sampled->library.ns + in_thunks * (double)counts->inner -
	     costs->heap_sample_ns * (double)counts->heap_samples;
	if (expected_ns > 0)
		factor = (COST_FIT_PRIOR + samples * (ns / expected_ns)) /
			 (COST_FIT_PRIOR + samples);
	factor = MIN(MAX(factor, COST_FIT_SAMPLED_MIN), COST_FIT_SAMPLED_MAX);
	costs->inner_ns *= factor;
	costs->outer_ns *= factor;
	costs->least_ns *= factor;
	costs->block_ns *= factor;
	return factor;
}

static void keep_least(double *least, size_t count, double mean)
{
	size_t at = MIN(count, COST_FIT_FASTEST - 1u);

	if (count >= COST_FIT_FASTEST && least[at] <= mean)
		return;
	for (; at > 0 && least[at - 1] > mean; at--)
		least[at] = least[at - 1];
	least[at] = mean;
}

/* Returns the measured ns of a nearly empty function, among functions with
 * @rare recorded calls or among the others. 0: there are too few. */
static double nothing_ns(const struct function_total *totals, size_t count,
			 bool rare)
{
	uint64_t calls = rare ? COST_FIT_RARE_CALLS : COST_FIT_CALLS;
	double least[COST_FIT_FASTEST];
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		const struct function_total *total = &totals[i];
		bool is_rare = total->calls / (COST_FIT_RARE + 1) >=
			       total->own_self.inner;
		double mean = (double)total->measured_self_ns /
			      (double)MAX(total->own_self.inner, 1u);

		if (total->own_self.inner >= calls && is_plain_leaf(total) &&
		    is_rare == rare)
			keep_least(least, found++, mean);
	}
	if (found < COST_FIT_FUNCTIONS)
		return 0;
	/* A frequently called function stays in caches even if few of its calls
	 * are recorded. */
	return least[rare ? MIN(found / 4, COST_FIT_FASTEST - 1u) : 0];
}

void cost_fit_halves(struct own_costs *costs,
		     const struct function_total *totals, size_t count)
{
	/* An empty function is measured as least_ns. */
	double part =
		costs->least_ns > 0 ? costs->inner_ns / costs->least_ns : 1;
	double often = nothing_ns(totals, count, false);
	double rare = nothing_ns(totals, count, true) * part;
	double most = often > 0 ? often : rare;

	if (most > 0 && costs->inner_ns > most) {
		costs->outer_ns += costs->inner_ns - most;
		costs->least_ns = most / part;
		costs->inner_ns = most;
	}
	costs->rare_ns = MAX(rare - costs->inner_ns, 0);
}
