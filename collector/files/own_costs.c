/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/own_costs.h"

#include <math.h>

#include "collector/base/lock.h"
#include "collector/files/calibrate.h"
#include "collector/options/collect_options.h"
#include "collector/profile/cost_fit.h"
#include "collector/profile/function_table.h"
#include "collector/record/recording.h"
#include "collector/states/states.h"
#include "shared/compiler.h"
#include "shared/own_cost.h"
#include "shared/record.h"

#define SECOND_NS 1000000000u
/* 1 / OTHER_PART of the events may be of other kinds. */
#define OTHER_PART 10u
/* With so many samples, their word counts. */
#define SAMPLES_TRUSTED 50u
/* A block without a stack and its free cost this many ns more than in a loop
 * that does nothing else, where they cost 2.7 (docs/OVERHEAD.md, "Blocks"). */
#define COLD_BLOCK_NS 1.0
/* Samples find this much of a block and its free in the wrappers. It is more
 * than they cost: malloc() would have waited for the same memory. */
#define IN_WRAPPERS_NS 8.0
/* The error of calibration and the fastest functions is a quarter. That of
 * samples is twice their deviation, but no less than the second number
 * (docs/OVERHEAD.md, "The error that is left"). */
#define ERROR_USUAL 0.25
#define ERROR_LEAST 0.05

struct own_costs own_costs_early(const struct recording *recording)
{
	const struct recording_setup *setup = recording_setup(recording);

	return (struct own_costs){ .inner_ns = setup->halves.inner_ns,
				   .outer_ns = setup->halves.outer_ns };
}

/* Returns true if every block was recorded. --alloc=auto does so in
 * instrumented programs. */
static bool is_exact(const struct recording *recording)
{
	const struct recording_setup *setup = recording_setup(recording);

	if (setup->options->alloc != ALLOC_AUTO)
		return setup->options->alloc == ALLOC_EXACT;
	for (const struct process_entry *entry =
		     recording_sums(recording)->processes;
	     entry; entry = entry->next)
		if (entry->instrumented)
			return true;
	return false;
}

static enum own_cost_kind span_kind(const struct recording *recording)
{
	const struct totals *sum = &recording_sums(recording)->totals;

	if (recording_setup(recording)->options->depth)
		return OWN_COST_DEPTH;
	return sum->general_spans > sum->spans / 2 ? OWN_COST_GENERAL
						   : OWN_COST_SPAN;
}

static double cpu_sample_ns(const struct collect_options *options)
{
	double ns = 0;

	if (options->cpu_engine == CPU_PERF)
		ns = calibrate_perf_ns(options->stack_bytes);
	return ns > 0 ? ns : calibrate_signal_ns(options->stack_bytes);
}

/* Measures the cost of each kind of event in @counts except spans. A sample of
 * a block copies @heap_bytes of the stack. */
static void measure_others(const struct recording_setup *setup,
			   const struct own_counts *counts, uint32_t heap_bytes,
			   struct own_costs *out)
{
	if (counts->counted)
		/* A loop here would measure what shares the core. */
		out->counted_ns = STATES_COUNTED_OVER_OFF_NS;
	if (counts->blocks)
		out->block_ns =
			calibrate_own_ns(OWN_COST_BLOCK, setup->ticks) / 2;
	if (counts->heap_samples)
		out->heap_sample_ns = calibrate_own_sample_ns(heap_bytes);
	if (counts->cpu_samples)
		out->cpu_sample_ns = cpu_sample_ns(setup->options);
}

/* Measured once for all recordings. */
static struct {
	struct lock lock;
	struct own_costs costs;
} g_live = { .lock = LOCK_INITIALIZER(OWN_COSTS) };

struct own_costs own_costs_live(const struct recording *recording,
				const struct own_counts *counts)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct own_costs costs = own_costs_early(recording);
	struct own_costs *known = &g_live.costs;
	struct own_counts missing;

	lock_acquire(&g_live.lock);
	missing = (struct own_counts){
		.counted = known->counted_ns > 0 ? 0 : counts->counted,
		.blocks = known->block_ns > 0 ? 0 : counts->blocks,
		.heap_samples =
			known->heap_sample_ns > 0 ? 0 : counts->heap_samples,
		.cpu_samples =
			known->cpu_sample_ns > 0 ? 0 : counts->cpu_samples,
	};
	measure_others(setup, &missing, setup->options->stack_bytes, known);
	costs.counted_ns = known->counted_ns;
	costs.block_ns = known->block_ns;
	costs.heap_sample_ns = known->heap_sample_ns;
	costs.cpu_sample_ns = known->cpu_sample_ns;
	lock_release(&g_live.lock);
	return costs;
}

/* Whether perfrec's own code did much that is not in @counts. */
static bool did_other_things(const struct totals *sum,
			     const struct own_counts *counts)
{
	uint64_t other = (sum->excluded_hooks + sum->left_out_hooks) / 2 +
			 sum->paused_spans + sum->dropped_spans +
			 sum->unslotted_spans + sum->note_events +
			 sum->note_arguments + sum->note_texts;

	return other > (counts->inner + counts->counted) / OTHER_PART;
}

/* Only samples see what a hook costs in the place where it is called: where
 * caches are shared, and the ring drives out what the program had there. */
static void fit_to_samples(const struct recording *recording,
			   struct own_costs_found *out)
{
	const struct totals *sum = &recording_sums(recording)->totals;
	const struct collect_options *options =
		recording_setup(recording)->options;
	struct own_counts counts = { 0 };
	const struct function_total *functions;
	size_t function_count;
	/* Time in the wrappers of blocks that were not recorded. */
	const double others =
		out->blocks_exact ? 0
				  : (double)sum->heap.allocs * IN_WRAPPERS_NS;
	const struct cost_sampled sampled = {
		.library = { sum->sampled.library_count,
			     MAX((double)sum->sampled.library_ns - others, 0) },
		.thunks = { sum->sampled.thunk_count,
			    (double)sum->sampled.thunk_ns },
	};
	double seen_ns;

	functions = recording_functions(recording, &function_count);
	for (size_t i = 0; i < function_count; i++)
		own_counts_add(&counts, &functions[i].own_self);
	if (!options->cpu_hz || did_other_things(sum, &counts))
		return;
	seen_ns = (double)sum->sampled.count * SECOND_NS / options->cpu_hz;
	/* Programs without samples also have a cost. */
	if (seen_ns < (double)sum->sampled.ns / 2)
		return;
	out->fitted = (1 + out->fitted) *
			      cost_fit_sampled(&out->costs, &counts, &sampled) -
		      1;
	out->sampled = sampled.library.samples >= SAMPLES_TRUSTED;
}

void own_costs_measure(const struct recording *recording,
		       struct own_costs_found *out)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct totals *sum = &recording_sums(recording)->totals;
	const struct function_total *totals;
	struct own_costs *costs = &out->costs;
	uint64_t cells = sum->heap_sample_cells / MAX(sum->heap_samples, 1u);
	size_t count;
	double samples;

	*out = (struct own_costs_found){ 0 };
	totals = recording_functions(recording, &count);
	if (sum->spans) {
		struct own_cost_halves halves = calibrate_own_halves(
			span_kind(recording), setup->ticks);

		costs->inner_ns = halves.inner_ns;
		costs->outer_ns = halves.outer_ns;
		costs->least_ns = halves.least_ns;
		out->fitted = cost_fit(costs, totals, count) - 1;
	}
	measure_others(setup,
		       &(struct own_counts){
			       .counted = sum->counted_calls,
			       .blocks = sum->heap.allocs,
			       .heap_samples = sum->heap_samples,
			       .cpu_samples = sum->sampled.count,
		       },
		       /* Bytes of stack that a sample copied, on average. */
		       (uint32_t)MIN(cells * sizeof(struct record),
				     (uint64_t)STACK_BYTES_MAX),
		       costs);
	out->blocks_exact = is_exact(recording);
	if (sum->heap.allocs && !out->blocks_exact)
		out->unsampled_ns = COLD_BLOCK_NS +
				    calibrate_own_ns(OWN_COST_BLOCK_NOT_SAMPLED,
						     setup->ticks);
	if (sum->spans) {
		fit_to_samples(recording, out);
		cost_fit_halves(costs, totals, count);
	}
	samples = (double)sum->sampled.library_count;
	costs->error = out->sampled ? MIN(MAX(2 / sqrt(samples), ERROR_LEAST),
					  ERROR_USUAL)
				    : ERROR_USUAL;
}
