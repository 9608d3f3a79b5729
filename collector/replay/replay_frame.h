/* SPDX-License-Identifier: Apache-2.0
 *
 * replay_frame - an open call of a replay, or of an index made from a trace
 * (index_build.h).
 */
#ifndef PERFREC_COLLECTOR_REPLAY_REPLAY_FRAME_H
#define PERFREC_COLLECTOR_REPLAY_REPLAY_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct cct_node;

struct replay_frame {
	uint64_t word;
	uint64_t begin_ns;
	uint64_t waited_ns; /* replay_counts.wait_ns at its start: the growth
			     * since then is not time of the call */
	uint64_t cell; /* replay.cells at its start */
	struct cct_node *node; /* of a phantom: its caller's */
	uint32_t same; /* number of frames directly below with the same stack
		        * pointer, or REPLAY_DETACHED */
	bool written; /* a slice of the trace, whose begin is written or
		       * pending */
	bool noted; /* its BEGIN in the trace has more than a name */
	uint8_t held; /* bits of replay_note.describe() */
	/* run_fast() leaves these alone: they are false beyond the top. */
	bool cut : 1; /* too deep: see replay_limit(); node as of a phantom */
	bool flat : 1; /* an excluded function: adds no depth */
};

#endif
