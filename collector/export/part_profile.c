/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/export/part_profile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collector/read/trace_sums.h"

/* Frames of all stacks: 256 MiB. */
#define FRAMES_MAX (UINT64_C(64) << 20)

/* Each text of the trace is a function with one location. */
static int make_places(const struct trace_sums *sums, struct part_profile *out)
{
	size_t count = (size_t)trace_reader_texts(sums->tree.reader) + 1;
	struct pprof *pprof = &out->pprof;

	pprof->functions = calloc(count, sizeof(*pprof->functions));
	pprof->locations = calloc(count, sizeof(*pprof->locations));
	out->lines = calloc(count, sizeof(*out->lines));
	if (!pprof->functions || !pprof->locations || !out->lines)
		return -ENOMEM;
	pprof->function_count = pprof->location_count = count;
	for (uint32_t i = 0; i < count; i++) {
		pprof->functions[i] = (struct pprof_function){
			.name = trace_reader_text(sums->tree.reader, i),
			.file = "",
		};
		out->lines[i].function = i;
		pprof->locations[i] = (struct pprof_location){
			.module = "", .lines = &out->lines[i], .line_count = 1
		};
	}
	return 0;
}

static bool is_sample(const struct trace_sums *sums, uint32_t number)
{
	const struct sums_node *node = trace_sums_node(sums, number);

	return node->call.parent && (node->self_ns || node->calls);
}

/* Writes the stack of node @number to @to (may be NULL). Returns its depth. */
static uint32_t write_stack(const struct trace_sums *sums, uint32_t number,
			    uint32_t *to)
{
	const struct sums_node *node = trace_sums_node(sums, number);
	uint32_t depth = 0;

	/* The root of a thread has no parent. */
	for (; node->call.parent;
	     node = trace_sums_node(sums, node->call.parent)) {
		if (to)
			to[depth] = node->call.name;
		depth++;
	}
	return depth;
}

static int make_samples(const struct trace_sums *sums, struct part_profile *out)
{
	struct pprof *pprof = &out->pprof;
	uint64_t frames = 0;
	uint32_t *stack;

	for (uint32_t i = 1; i < sums->tree.nodes.count; i++)
		if (is_sample(sums, i))
			frames += write_stack(sums, i, NULL);
	if (frames > FRAMES_MAX)
		return -EFBIG;
	pprof->samples =
		calloc(sums->tree.nodes.count, sizeof(*pprof->samples));
	out->stacks = stack = calloc(frames + 1, sizeof(*stack));
	if (!pprof->samples || !stack)
		return -ENOMEM;
	for (uint32_t i = 1; i < sums->tree.nodes.count; i++) {
		const struct sums_node *node = trace_sums_node(sums, i);
		struct pprof_sample *sample;

		if (!is_sample(sums, i))
			continue;
		sample = &pprof->samples[pprof->sample_count++];
		sample->stack = stack;
		sample->depth = write_stack(sums, i, stack);
		sample->value[0] = (int64_t)node->calls;
		sample->value[1] = (int64_t)node->self_ns;
		stack += sample->depth;
	}
	return 0;
}

int part_profile_make(const struct trace_sums *sums, struct part_profile *out)
{
	int err;

	*out = (struct part_profile){
		.pprof = { .type = { { "calls", "count" },
				     { "wall", "nanoseconds" } },
			   .type_count = 2 },
	};
	err = make_places(sums, out);
	return err ? err : make_samples(sums, out);
}

void part_profile_release(struct part_profile *profile)
{
	free(profile->pprof.functions);
	free(profile->pprof.locations);
	free(profile->pprof.samples);
	free(profile->lines);
	free(profile->stacks);
	*profile = (struct part_profile){ 0 };
}
