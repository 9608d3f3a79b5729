/* SPDX-License-Identifier: Apache-2.0
 *
 * cct_flat - a copy of a calling-context tree as two arrays, for another
 * thread, while the tree goes on changing. Profiles are made from it.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_CCT_FLAT_H
#define PERFREC_COLLECTOR_REPLAY_CCT_FLAT_H

#include <stddef.h>
#include <stdint.h>

#include "collector/replay/kernel_counts.h"
#include "collector/replay/own_counts.h"

struct replay;

struct flat_function {
	uint64_t address;
	uint32_t generation;
};

struct flat_node {
	uint32_t parent; /* index, smaller than its own; the root's is 0 */
	uint32_t function; /* index; 0 of the root and of "overflow" */
	uint64_t calls;
	uint64_t cpu_samples;
	int64_t self_ns; /* negative only where clocks were repaired */
	struct own_counts own; /* perfrec's work in self_ns */
};

struct cct_flat {
	struct flat_function *function;
	size_t function_count;
	struct flat_node *node; /* [0] is the root; parents come first */
	size_t node_count;
	struct kernel_counts *kernel; /* of each node; NULL: no data */
	struct flat_waits {
		struct kernel_waits kind[KERNEL_WAITS_KINDS];
	} * waits; /* of each node; NULL: no data */
};

/*
 * Copies the tree of @replay into *@out. Call it on the thread that runs the
 * replay. An open span counts as one call, with its time up to @now_ns. So the
 * sums by function are as cct_sum() computes them when no span is open. Calls
 * whose stacks found no room are below the node "overflow": function 0, but not
 * the root. Returns 0 or -ENOMEM. The caller ends *@out with
 * cct_flat_release().
 */
int cct_flat_copy(struct replay *replay, uint64_t now_ns, struct cct_flat *out);
void cct_flat_release(struct cct_flat *flat);

#endif
