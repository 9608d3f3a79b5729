/* SPDX-License-Identifier: Apache-2.0
 *
 * own_costs - the cost of one event of each kind on this machine, for the
 * summary of the cost of recording (summary_cost.h) and for times without it
 * (true_time.h).
 */
#ifndef PERFREC_COLLECTOR_FILES_OWN_COSTS_H
#define PERFREC_COLLECTOR_FILES_OWN_COSTS_H

#include <stdbool.h>

#include "collector/profile/true_time.h"

struct recording;

/* The costs of spans, and how they were found. */
struct own_costs_found {
	struct own_costs costs; /* subtracted from times */
	double fitted; /* cost_fit() and cost_fit_sampled(), less 1 */
	bool sampled; /* enough samples said what a span costs */
	bool blocks_exact; /* each block was recorded */
	double unsampled_ns; /* else: of a block without stack, and its free */
	struct true_time_sums sums; /* of recording_correct_functions() */
};

/* Measure what those things take that @recording has, which has ended: some ms.
 * Any thread. */
void own_costs_measure(const struct recording *recording,
		       struct own_costs_found *out);

/* Returns the costs of spans as known at the start of @recording, for files
 * written while it runs. Any thread. */
struct own_costs own_costs_early(const struct recording *recording);

/* As own_costs_early(), with the costs of the other kinds in @counts, the
 * events up to now. The first call of the process takes some ms. Threads that
 * may wait. */
struct own_costs own_costs_live(const struct recording *recording,
				const struct own_counts *counts);

#endif
