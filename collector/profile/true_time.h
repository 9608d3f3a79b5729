/* SPDX-License-Identifier: Apache-2.0
 *
 * true_time - times without perfrec's own time (docs/OVERHEAD.md): perfrec's
 * events in a time (own_counts.h), times their unit costs. Pure. Any thread.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_TRUE_TIME_H
#define PERFREC_COLLECTOR_PROFILE_TRUE_TIME_H

#include <stdint.h>

#include "collector/replay/own_counts.h"

/* Unit costs in ns. All 0: unknown. */
struct own_costs {
	double inner_ns, outer_ns; /* the halves of a recorded call */
	double least_ns; /* measured time of an empty call */
	/* Cost beyond inner_ns of a recorded call of a function with mostly
	 * counted calls: caches and branch predictors are cold. Only subtracted
	 * for functions (function_table.h). */
	double rare_ns;
	double counted_ns; /* a call that is only counted */
	double block_ns; /* a record of an allocation or free */
	double heap_sample_ns; /* the stack of an allocation */
	double cpu_sample_ns;
	double error; /* of all these, as a part of 1 */
};

/* Sums over self times. */
struct true_time_sums {
	uint64_t subtracted_ns;
	uint64_t below_ns; /* sum of the negative rests */
};

/* Returns the ns that perfrec took for the events @counts. */
double true_time_cost(const struct own_costs *costs,
		      const struct own_counts *counts);

/* Returns @measured_ns without perfrec's own time, at least 0. Adds the
 * negative rest to *@below_ns. Returns a negative @measured_ns, from repaired
 * clocks, unchanged. */
int64_t true_time(int64_t measured_ns, const struct own_costs *costs,
		  const struct own_counts *counts, uint64_t *below_ns);

#endif
