/* SPDX-License-Identifier: Apache-2.0
 *
 * cost_fit - what a recorded call costs in the programs that were recorded, and
 * not in a loop that does nothing else. Pure. Any thread.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_COST_FIT_H
#define PERFREC_COLLECTOR_PROFILE_COST_FIT_H

#include <stddef.h>
#include <stdint.h>

struct function_total;
struct own_costs;
struct own_counts;

/*
 * Fits the halves of a recorded call in @costs, which were measured in a loop,
 * to the programs that were recorded. There they may cost more: caches are
 * shared, and another program may have half of the CPU's core. How much is seen
 * in functions that call nothing and do nearly nothing: on average none of them
 * can be measured as less than costs->least_ns. The @count functions at @totals
 * have their measured times. Returns by what the halves were multiplied, 1 to
 * COST_FIT_MAX.
 */
double cost_fit(struct own_costs *costs, const struct function_total *totals,
		size_t count);
/* A function that takes longer than this does something. */
#define COST_FIT_MAX 1.4
/* A function with fewer calls says nothing, nor do fewer functions. */
#define COST_FIT_CALLS 1000
#define COST_FIT_FUNCTIONS 4

/* What samples of CPU time say of perfrec's own code in the programs: how many
 * there are, and the time that they stand for. */
struct cost_sampled {
	struct {
		uint64_t samples;
		double ns;
	} library, /* hooks and wrappers */
		thunks; /* a call goes through them before its hooks, or is
			 * only counted by them */
};

/*
 * Fits the costs of calls and blocks in @costs to what was sampled of them. All
 * calls that @counts holds took the time in thunks. Those that were recorded,
 * and blocks, took the time in the library, but for that of stacks of
 * allocations. What @costs say before counts as COST_FIT_PRIOR samples, so few
 * samples change little. Returns by what the halves were multiplied,
 * COST_FIT_SAMPLED_MIN to _MAX.
 */
double cost_fit_sampled(struct own_costs *costs,
			const struct own_counts *counts,
			const struct cost_sampled *sampled);
/*
 * Shares out what a recorded call takes, anew: the inner half cannot be more
 * than what the fastest functions are measured to take; the rest is the outer
 * half. Sets rare_ns by the fastest quarter of the functions of which most
 * calls were only counted, or the COST_FIT_FASTEST fastest. As in cost_fit(),
 * there must be COST_FIT_FUNCTIONS of either kind; with fewer nothing changes.
 */
void cost_fit_halves(struct own_costs *costs,
		     const struct function_total *totals, size_t count);
/* So many calls are only counted for each one that is recorded, or more. A
 * function with fewer than COST_FIT_RARE_CALLS of these says nothing. */
#define COST_FIT_RARE 7
#define COST_FIT_FASTEST 9
#define COST_FIT_RARE_CALLS 100

#define COST_FIT_PRIOR 16
#define COST_FIT_SAMPLED_MIN 0.5
#define COST_FIT_SAMPLED_MAX 8

#endif
