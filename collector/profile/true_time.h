/* SPDX-License-Identifier: Apache-2.0
 *
 * true_time - times without what perfrec itself took in them
 * (docs/OVERHEAD.md). Pure: what perfrec did in a time (own_counts.h), times
 * what one of each kind costs. Any thread.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_TRUE_TIME_H
#define PERFREC_COLLECTOR_PROFILE_TRUE_TIME_H

#include <stdint.h>

#include "collector/replay/own_counts.h"

/* What one of each kind takes, in ns. All 0: nothing is known. */
struct own_costs {
	double inner_ns, outer_ns; /* the halves of a recorded call */
	double least_ns; /* as which a call is measured that does nothing */
	/* How much more than inner_ns is in a recorded call of a function of
	 * which most calls are only counted: nothing of it is in a cache, and
	 * the CPU does not foresee its jumps. Subtracted for functions only
	 * (function_table.h). */
	double rare_ns;
	double counted_ns; /* a call that is only counted */
	double block_ns; /* a record of an allocation or free */
	double heap_sample_ns; /* the stack of an allocation */
	double cpu_sample_ns;
	double error; /* of all these, as a part of 1 */
};

/* Of self times. */
struct true_time_sums {
	uint64_t subtracted_ns;
	uint64_t below_ns; /* by how much they would have become negative */
};

/* What perfrec took of a time in which it did @counts, in ns. */
double true_time_cost(const struct own_costs *costs,
		      const struct own_counts *counts);

/*
 * @measured_ns without what perfrec took in it. It is never less than 0: by how
 * much it would be is added to *@below_ns. If @measured_ns is negative, which
 * clocks that were repaired may leave, it stays as it is.
 */
int64_t true_time(int64_t measured_ns, const struct own_costs *costs,
		  const struct own_counts *counts, uint64_t *below_ns);

#endif
