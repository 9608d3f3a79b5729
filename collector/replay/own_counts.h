/* SPDX-License-Identifier: Apache-2.0
 *
 * own_counts - perfrec's work inside a measured time, as a number of things of
 * each kind. true_time.h subtracts their cost.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_OWN_COUNTS_H
#define PERFREC_COLLECTOR_REPLAY_OWN_COUNTS_H

#include <stdint.h>

/* All members are uint64_t: they are added up as an array, and profiles keep
 * them as values. */
struct own_counts {
	uint64_t inner; /* recorded calls: their inner half is here */
	uint64_t outer; /* recorded calls from here: their outer half */
	uint64_t counted; /* calls from here that were only counted */
	uint64_t blocks;
	uint64_t heap_samples;
	uint64_t cpu_samples;
	uint64_t wait_ns;
};

#define OWN_COUNTS (sizeof(struct own_counts) / sizeof(uint64_t))

static inline void own_counts_add(struct own_counts *sum,
				  const struct own_counts *from)
{
	sum->inner += from->inner;
	sum->outer += from->outer;
	sum->counted += from->counted;
	sum->blocks += from->blocks;
	sum->heap_samples += from->heap_samples;
	sum->cpu_samples += from->cpu_samples;
	sum->wait_ns += from->wait_ns;
}

static inline struct own_counts own_counts_since(
	const struct own_counts *sum, const struct own_counts *before)
{
	return (struct own_counts){
		.inner = sum->inner - before->inner,
		.outer = sum->outer - before->outer,
		.counted = sum->counted - before->counted,
		.blocks = sum->blocks - before->blocks,
		.heap_samples = sum->heap_samples - before->heap_samples,
		.cpu_samples = sum->cpu_samples - before->cpu_samples,
		.wait_ns = sum->wait_ns - before->wait_ns,
	};
}

#endif
