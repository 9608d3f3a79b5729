/* SPDX-License-Identifier: Apache-2.0
 *
 * cct_kernel - what the kernel told of the nodes of a calling-context tree.
 * Most nodes are never interrupted, so a node has a struct cct_kernel only from
 * the first time on that it was the innermost when the kernel told something.
 * As for the tree: one thread at a time.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_CCT_KERNEL_H
#define PERFREC_COLLECTOR_REPLAY_CCT_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/replay/kernel_counts.h"

struct cct;
struct cct_node;

struct cct_kernel {
	struct kernel_counts counts;
	/* Of its waits, those whose stack and object are known, and are in
	 * offcpu.pb.gz with these. */
	uint64_t told_ns, told_waits;
	uint64_t waits; /* all */
	/* Stretches that sched/off_times.c has not settled yet. */
	uint64_t open_blocked_ns, open_preempted_ns;
	uint64_t open_waits, open_preemptions;
	struct cct_kernel *next_open;
	bool is_open; /* it is in a list by next_open */
};

/* What a function has, in all its nodes. */
struct cct_kernel_sums {
	struct kernel_counts self, total;
	struct kernel_counts entered; /* for cct_kernel_sum() */
};

/* That of @node, made if there is none. Never NULL: without memory it is one
 * that the tree has for all such nodes, which is no node's. */
struct cct_kernel *cct_kernel_of(struct cct *cct, struct cct_node *node);
/* What is counted of @node, with stretches that are open, as they lie. */
struct kernel_counts cct_kernel_counts(const struct cct_node *node);

/*
 * Sums the nodes up by function, as cct_sum() does: function->kernel is set
 * until the tree is released; NULL, where the kernel told nothing of any node,
 * or there is no memory. Once, when nothing is open any more.
 */
void cct_kernel_sum(struct cct *cct);

#endif
