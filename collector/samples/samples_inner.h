/* SPDX-License-Identifier: Apache-2.0
 *
 * samples_inner - what the thread that unwinds (sampler.c) and what was sampled
 * of a process (samples.c) know of each other. For all others: samples.h.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_SAMPLES_INNER_H
#define PERFREC_COLLECTOR_SAMPLES_SAMPLES_INNER_H

#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/samples/samples.h"
#include "collector/stacks/unwind.h"

/* What else may be in the queue: the end of a struct samples. */
#define SAMPLE_END ((enum sample_kind)0)

/* What all processes share, on the sampler's thread. */
struct sampler_tools {
	struct unwind_files *files;
	struct budget cache_budget; /* of all stack caches */
	struct unwind_result result; /* of the stack being unwound */
};

/* What found no room in the queue. */
struct samples_lost {
	uint64_t samples; /* that were posted */
	uint64_t count, weight_ns; /* of those, what they stood for */
};

/* sampler.c: */
struct sampler_tools *sampler_tools(struct sampler *sampler);
/* As samples_post(), once sample->of is set; counts what it frees in *@lost,
 * under the sampler's lock. */
bool sampler_post(struct sampler *sampler, struct sample *sample,
		  struct samples_lost *lost);
/* Count one in *@lost, under the same lock. */
void sampler_lose(struct sampler *sampler, uint64_t count, uint64_t weight_ns,
		  struct samples_lost *lost);
/* Post the end of a struct samples, whatever waits. Not freed. */
void sampler_post_end(struct sampler *sampler, struct sample *end);

/* samples.c, for the sampler's thread: deal with @sample and free it. */
void samples_deal(struct sample *sample);

#endif
