/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_cost - "cost" of summary.json: what recording cost the program.
 */
#ifndef PERFREC_COLLECTOR_FILES_SUMMARY_COST_H
#define PERFREC_COLLECTOR_FILES_SUMMARY_COST_H

#include <jansson.h>
#include <stdint.h>

struct recording;

/* What was recorded, and what hooks did that recorded nothing, each by what one
 * of its kind takes here and now; of a @recording that has ended and took
 * @wall_ns. NULL: no memory. Some ms; one thread of the process at a time. */
json_t *summary_cost(const struct recording *recording, uint64_t wall_ns);

#endif
