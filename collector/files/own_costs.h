/* SPDX-License-Identifier: Apache-2.0
 *
 * own_costs - what one of each thing that a recording is made of takes on this
 * machine, for the summary of what recording cost (summary_cost.h) and for
 * times without that (true_time.h).
 */
#ifndef PERFREC_COLLECTOR_FILES_OWN_COSTS_H
#define PERFREC_COLLECTOR_FILES_OWN_COSTS_H

#include <stdbool.h>

#include "collector/profile/true_time.h"

struct recording;

/* How the costs of spans were found, and what came of it. */
struct own_costs_found {
	struct own_costs costs; /* what is subtracted from times */
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

/* What is known at the begin of @recording, for what is written while it goes
 * on: of spans. Any thread. */
struct own_costs own_costs_early(const struct recording *recording);

#endif
