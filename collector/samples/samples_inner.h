/* SPDX-License-Identifier: Apache-2.0
 *
 * samples_inner - the interface between the two files of the module samples:
 * sampler.c has the queues and the unwinding threads, samples.c the samples of
 * one process. All other files include samples.h.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_SAMPLES_INNER_H
#define PERFREC_COLLECTOR_SAMPLES_SAMPLES_INNER_H

#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/profile/unwind.h"
#include "collector/samples/samples.h"

/* The kind of the last sample of a struct samples, without data: all earlier
 * samples have been handled. */
#define SAMPLE_END ((enum sample_kind)0)

struct stack_profile;
struct lane; /* a queue with its thread, one per recording */

/* Shared by all processes of a recording, on its lane's thread. */
struct sampler_tools {
	struct unwind_files *files;
	struct budget *cache_budget; /* of all stack caches */
	struct unwind_result result; /* of the stack being unwound */
};

/* Samples dropped from a full queue. */
struct samples_lost {
	uint64_t samples; /* posted samples */
	uint64_t count, weight_ns; /* sums of these samples */
	uint64_t stacks; /* of allocated blocks, which are queued without */
};

/* Returns the lane of @recording, and makes it if it is new. NULL: no memory,
 * or no thread. Any thread. */
struct lane *sampler_lane(struct sampler *sampler,
			  const struct recording *recording);
/* Returns the tools of the lane's thread. */
struct sampler_tools *lane_tools(struct lane *lane);
/* Like samples_post(), after sample->of is set. Counts dropped samples in
 * *@lost, under the lane's lock. */
bool lane_post(struct lane *lane, struct sample *sample,
	       struct samples_lost *lost);
/* Returns @lost->stacks. Any thread. */
uint64_t lane_lost_stacks(struct lane *lane, const struct samples_lost *lost);
/* Counts one sample as dropped. */
void lane_lose(struct lane *lane, uint64_t count, uint64_t weight_ns,
	       struct samples_lost *lost);
/* Posts @end, the last sample of a struct samples, even to a full queue. The
 * lane does not free it. */
void lane_post_end(struct lane *lane, struct sample *end);

/* The link of a process in the list of its lane. */
struct samples_link {
	struct samples_link *next, **link;
};

/* Any thread. */
void lane_list(struct lane *lane, struct samples_link *samples);
/* The lane's thread. */
void lane_unlist(struct lane *lane, struct samples_link *samples);

/* Handles @sample and frees it. By a lane's thread. */
void samples_deal(struct sample *sample);
/* Adds the samples so far of a running process. Arguments as sampler_look(). */
void samples_add_so_far(struct samples_link *of, struct stack_profile *cpu,
			struct stack_profile *waits);

#endif
