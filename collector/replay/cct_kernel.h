/* SPDX-License-Identifier: Apache-2.0
 *
 * cct_kernel - data from the kernel about nodes of a calling-context tree. Most
 * nodes are never interrupted. So a node gets a struct cct_kernel only when the
 * kernel first reports something while the node is the innermost. One thread at
 * a time, as for the tree.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_CCT_KERNEL_H
#define PERFREC_COLLECTOR_REPLAY_CCT_KERNEL_H

#include "collector/replay/kernel_counts.h"

struct cct;
struct cct_node;

/* Returns the struct of @node, and makes one if there is none. Never returns
 * NULL: without memory, it is a struct that all such nodes of the tree
 * share. */
struct cct_kernel *cct_kernel_of(struct cct *cct, struct cct_node *node);
/* Returns the counts of @node, with open stretches as they are now. */
struct kernel_counts cct_kernel_counts(const struct cct_node *node);

/* Sums up the nodes of each function, as cct_sum() does. Sets function->kernel
 * until the tree is released; it stays NULL if no node has data, or without
 * memory. Call it once, when nothing is open any more. */
void cct_kernel_sum(struct cct *cct);

#endif
