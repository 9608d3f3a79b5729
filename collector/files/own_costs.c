/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/own_costs.h"

#include "collector/files/calibrate.h"
#include "collector/options/collect_options.h"
#include "collector/profile/cost_fit.h"
#include "collector/record/recording.h"
#include "shared/compiler.h"
#include "shared/own_cost.h"
#include "shared/record.h"

struct own_costs own_costs_early(const struct recording *recording)
{
	const struct recording_setup *setup = recording_setup(recording);

	return (struct own_costs){ .inner_ns = setup->halves.inner_ns,
				   .outer_ns = setup->halves.outer_ns };
}

/* How most spans were recorded. */
static enum own_cost_kind span_kind(const struct recording *recording)
{
	const struct totals *sum = &recording_sums(recording)->totals;

	if (recording_setup(recording)->options->depth)
		return OWN_COST_DEPTH;
	return sum->general_spans > sum->spans / 2 ? OWN_COST_GENERAL
						   : OWN_COST_SPAN;
}

/* How many bytes of the stack a sample of a block copied, on average. */
static uint32_t sampled_bytes(const struct totals *sum)
{
	uint64_t cells = sum->heap_sample_cells / MAX(sum->heap_samples, 1u);

	return (uint32_t)MIN(cells * sizeof(struct record),
			     (uint64_t)STACK_BYTES_MAX);
}

static double cpu_sample_ns(const struct collect_options *options)
{
	double ns = 0;

	if (options->cpu_engine == CPU_PERF)
		ns = calibrate_perf_ns(options->stack_bytes);
	return ns > 0 ? ns : calibrate_signal_ns(options->stack_bytes);
}

void own_costs_measure(const struct recording *recording,
		       struct own_costs_found *out)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct totals *sum = &recording_sums(recording)->totals;
	const struct function_total *totals;
	struct own_costs *costs = &out->costs;
	size_t count;

	*out = (struct own_costs_found){ 0 };
	if (sum->spans) {
		struct own_cost_halves halves =
			own_cost_halves(span_kind(recording), setup->ticks);

		costs->inner_ns = halves.inner_ns;
		costs->outer_ns = halves.outer_ns;
		costs->least_ns = halves.least_ns;
		totals = recording_functions(recording, &count);
		out->fitted = cost_fit(costs, totals, count) - 1;
	}
	if (sum->counted_calls)
		costs->counted_ns = own_cost_ns(OWN_COST_COUNTED, setup->ticks);
	if (sum->heap.allocs)
		costs->block_ns = own_cost_ns(OWN_COST_BLOCK, setup->ticks) / 2;
	if (sum->heap_samples)
		costs->heap_sample_ns = own_cost_sample_ns(sampled_bytes(sum));
	if (sum->sampled.count)
		costs->cpu_sample_ns = cpu_sample_ns(setup->options);
}
