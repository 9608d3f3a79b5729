/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_cost - "cost" of summary.json: what recording cost the programs.
 */
#ifndef PERFREC_COLLECTOR_FILES_SUMMARY_COST_H
#define PERFREC_COLLECTOR_FILES_SUMMARY_COST_H

#include <stdint.h>

struct own_costs_found;
struct recording;
struct summary_cost;

/* Sets *@out to the cost of @recording, which has ended and took @wall_ns: the
 * number of spans, blocks, samples and so on, times the cost of one on this
 * machine. own_costs_measure() has @found some of these costs; this function
 * measures the others, which takes some ms. Any thread. */
void summary_cost(const struct recording *recording,
		  const struct own_costs_found *found, uint64_t wall_ns,
		  struct summary_cost *out);

#endif
