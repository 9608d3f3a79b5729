/* SPDX-License-Identifier: Apache-2.0
 *
 * own_counts - what perfrec did inside a measured time: so many things of each
 * kind, each of which took its own cost. true_time.h subtracts that.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_OWN_COUNTS_H
#define PERFREC_COLLECTOR_REPLAY_OWN_COUNTS_H

#include <stdint.h>

/* All members are uint64_t: they are added up as an array, and profiles keep
 * them as values. */
struct own_counts {
	uint64_t inner; /* recorded calls, of which the inner half is here */
	uint64_t outer; /* recorded calls made from here: the outer half */
	uint64_t counted; /* calls made from here that were only counted */
	uint64_t blocks; /* records of allocations and frees */
	uint64_t heap_samples; /* stacks of allocations */
	uint64_t cpu_samples;
	uint64_t wait_ns; /* for room in the ring */
};

#define OWN_COUNTS (sizeof(struct own_counts) / sizeof(uint64_t))

/* Adds @from to @sum. */
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

/* What was added to @sum since it was @before. */
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
