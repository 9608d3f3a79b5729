/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_cost - "cost" of summary.json: what recording cost the programs.
 */
#ifndef PERFREC_COLLECTOR_FILES_SUMMARY_COST_H
#define PERFREC_COLLECTOR_FILES_SUMMARY_COST_H

#include <jansson.h>
#include <stdint.h>

struct own_costs_found;
struct recording;

/* The cost of @recording, which has ended and took @wall_ns: how many spans,
 * blocks, samples and so on were recorded, each times what one takes on this
 * machine: what own_costs_measure() has @found, and what is measured now, which
 * takes some ms. Any thread. A new JSON object, which
 * the caller owns; NULL: no memory. */
json_t *summary_cost(const struct recording *recording,
		     const struct own_costs_found *found, uint64_t wall_ns);

#endif
