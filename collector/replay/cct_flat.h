/* SPDX-License-Identifier: Apache-2.0
 *
 * cct_flat - a calling-context tree as two arrays: a copy that can leave the
 * thread that owns the tree, while that goes on, and what profiles are made
 * from.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_CCT_FLAT_H
#define PERFREC_COLLECTOR_REPLAY_CCT_FLAT_H

#include <stddef.h>
#include <stdint.h>

struct replay;

struct flat_function {
	uint64_t address;
	uint32_t generation; /* of the load map */
};

struct flat_node {
	uint32_t parent; /* index, always smaller than its own; the root's
			  * is 0: itself */
	uint32_t function; /* index; 0 of the root and of "overflow" */
	uint64_t calls;
	uint64_t cpu_samples;
	int64_t self_ns; /* negative only where clocks were repaired */
};

struct cct_flat {
	struct flat_function *function; /* [0] stands for none */
	size_t function_count;
	struct flat_node *node; /* [0] is the root; parents come first */
	size_t node_count;
};

/*
 * Copy the tree of @replay, on the thread that runs it, which may go on after.
 * Spans that are open count as one call each, and with their time up to
 * @now_ns; summed up by function it is what cct_sum() says once none is. What
 * found no room is below the node of function 0 that is not the root. 0 or
 * -ENOMEM. The caller ends *@out with cct_flat_release().
 */
int cct_flat_copy(struct replay *replay, uint64_t now_ns, struct cct_flat *out);
void cct_flat_release(struct cct_flat *flat);

#endif
