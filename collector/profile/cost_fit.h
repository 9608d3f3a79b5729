/* SPDX-License-Identifier: Apache-2.0
 *
 * cost_fit - adjusts the cost of a recorded call, measured in an empty loop, to
 * the recorded programs. Pure. Any thread.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_COST_FIT_H
#define PERFREC_COLLECTOR_PROFILE_COST_FIT_H

#include <stddef.h>
#include <stdint.h>

struct function_total;
struct own_costs;
struct own_counts;

/*
 * Fits the halves of a recorded call in @costs, measured in a loop, to the
 * recorded programs. Calls may cost more there: caches are shared, and another
 * program may use half of the CPU's core. Functions that call nothing and do
 * almost nothing show the difference: on average none of them measures less
 * than costs->least_ns. @totals have @count functions with measured times.
 * Returns the factor of the halves, 1 to COST_FIT_MAX.
 */
double cost_fit(struct own_costs *costs, const struct function_total *totals,
		size_t count);
/* A function that exceeds this does real work. */
#define COST_FIT_MAX 1.4
/* Least numbers of calls of a function, and of such functions. */
#define COST_FIT_CALLS 1000
#define COST_FIT_FUNCTIONS 4

/* CPU samples in perfrec's own code in the programs. */
struct cost_sampled {
	struct {
		uint64_t samples;
		double ns;
	} library, /* hooks and wrappers */
		/* Calls pass through thunks before their hooks, or are only
		 * counted there. */
		thunks;
};

/*
 * Fits the costs of calls and blocks in @costs to their samples. All calls in
 * @counts spent the time in thunks. Recorded calls and blocks spent the time in
 * the library, except for stacks of allocations. The prior costs count as
 * COST_FIT_PRIOR samples, so few samples change little. Returns the factor of
 * the halves, COST_FIT_SAMPLED_MIN to _MAX.
 */
double cost_fit_sampled(struct own_costs *costs,
			const struct own_counts *counts,
			const struct cost_sampled *sampled);
/*
 * Distributes the cost of a recorded call again. The inner half is at most the
 * measured time of the fastest functions; the rest is the outer half. Sets
 * rare_ns from functions with mostly counted calls: the fastest quarter, or the
 * COST_FIT_FASTEST fastest. As in cost_fit(), needs COST_FIT_FUNCTIONS of
 * either kind; otherwise changes nothing.
 */
void cost_fit_halves(struct own_costs *costs,
		     const struct function_total *totals, size_t count);
/* Least counted calls per recorded call of a rarely recorded function. It needs
 * at least COST_FIT_RARE_CALLS recorded calls. */
#define COST_FIT_RARE 7
#define COST_FIT_FASTEST 9
#define COST_FIT_RARE_CALLS 100

#define COST_FIT_PRIOR 16
#define COST_FIT_SAMPLED_MIN 0.5
#define COST_FIT_SAMPLED_MAX 8

#endif
