/* SPDX-License-Identifier: Apache-2.0
 *
 * replay_frame - an open call, as replay has it, and as who makes the index of
 * a trace that is there has it (index_build.h).
 */
#ifndef PERFREC_COLLECTOR_REPLAY_REPLAY_FRAME_H
#define PERFREC_COLLECTOR_REPLAY_REPLAY_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct cct_node;

struct replay_frame {
	uint64_t word; /* of its BEGIN or PHANTOM */
	uint64_t begin_ns;
	uint64_t waited_ns; /* replay_counts.wait_ns when it began: how much
			     * that has grown since is no time of the call */
	uint64_t cell; /* replay.cells when it began */
	struct cct_node *node; /* of a phantom: its caller's */
	uint32_t same; /* frames below it with the same stack pointer; or
			* REPLAY_DETACHED */
	bool written; /* a slice of the trace: its begin is there, or pending */
	bool noted; /* its begin in the trace has more than a name */
	/* run_fast() leaves these two alone: false beyond the top. */
	bool cut; /* too deep: see replay_limit(); node as of a phantom */
	bool flat; /* an excluded function: deepens nothing */
};

#endif
