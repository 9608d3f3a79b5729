/* SPDX-License-Identifier: Apache-2.0
 *
 * samples_inner - what the two files of the module samples know of each other:
 * sampler.c is the queues and the threads that unwind, samples.c is what was
 * sampled of one process. All others include samples.h.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_SAMPLES_INNER_H
#define PERFREC_COLLECTOR_SAMPLES_SAMPLES_INNER_H

#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/samples/samples.h"
#include "collector/stacks/unwind.h"

/* The kind of the last sample of a struct samples, which carries nothing: when
 * it comes, all samples before it have been dealt with. */
#define SAMPLE_END ((enum sample_kind)0)

struct lane; /* a queue with its thread: one for each recording */

/* What all processes of a recording share, on its lane's thread. */
struct sampler_tools {
	struct unwind_files *files;
	struct budget *cache_budget; /* of all stack caches */
	struct unwind_result result; /* of the stack being unwound */
};

/* What found no room in the queue. */
struct samples_lost {
	uint64_t samples; /* that were posted */
	uint64_t count, weight_ns; /* the sums of these samples */
	uint64_t stacks; /* of blocks that were allocated; these are queued */
};

/* The lane of @recording, which is made if it is new. NULL: no memory, or no
 * thread. Any thread. */
struct lane *sampler_lane(struct sampler *sampler,
			  const struct recording *recording);
/* The tools of the lane's thread. */
struct sampler_tools *lane_tools(struct lane *lane);
/* As samples_post(), once sample->of is set. What it has to free is counted in
 * *@lost, under the lane's lock. */
bool lane_post(struct lane *lane, struct sample *sample,
	       struct samples_lost *lost);
/* @lost->stacks. Any thread. */
uint64_t lane_lost_stacks(struct lane *lane, const struct samples_lost *lost);
/* Count one sample, as one that lane_post() had to free. */
void lane_lose(struct lane *lane, uint64_t count, uint64_t weight_ns,
	       struct samples_lost *lost);
/* Post @end, the last one of a struct samples, however many wait. The lane does
 * not free it. */
void lane_post_end(struct lane *lane, struct sample *end);

/* samples.c, for a lane's thread: deal with @sample and free it. */
void samples_deal(struct sample *sample);

#endif
