/* SPDX-License-Identifier: Apache-2.0
 *
 * cct_kernel - what the kernel told of the nodes of a calling-context tree.
 * Most nodes are never interrupted, so a node has a struct cct_kernel only from
 * the first time on that it was the innermost when the kernel told something.
 * As for the tree: one thread at a time.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_CCT_KERNEL_H
#define PERFREC_COLLECTOR_REPLAY_CCT_KERNEL_H

#include "collector/replay/kernel_counts.h"

struct cct;
struct cct_node;

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
