/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/cct_kernel.h"

#include <stdlib.h>

#include "collector/replay/cct.h"

struct cct_kernel *cct_kernel_of(struct cct *cct, struct cct_node *node)
{
	if (node->kernel)
		return node->kernel;
	node->kernel = cct_memory(cct, sizeof(*node->kernel));
	if (!node->kernel)
		return &cct->no_node;
	*node->kernel = (struct cct_kernel){ 0 };
	cct->has_kernel = true;
	return node->kernel;
}

struct kernel_counts cct_kernel_counts(const struct cct_node *node)
{
	const struct cct_kernel *kernel = node->kernel;
	struct kernel_counts counts = { 0 };

	if (!kernel)
		return counts;
	counts = kernel->counts;
	counts.blocked_ns += kernel->open_blocked_ns;
	counts.runnable_ns += kernel->open_preempted_ns;
	return counts;
}

static void enter_kernel_node(struct cct_node *node, void *context)
{
	struct kernel_counts *done = context;
	struct cct_function *function = node->function;
	const struct kernel_counts own = cct_kernel_counts(node);

	if (function->active++ == 0)
		function->kernel->entered = *done;
	kernel_counts_add(&function->kernel->self, &own);
	kernel_counts_add(done, &own);
}

static void leave_kernel_node(struct cct_node *node, void *context)
{
	const struct kernel_counts *done = context;
	struct cct_function *function = node->function;
	struct kernel_counts inside = *done;

	if (--function->active)
		return;
	kernel_counts_subtract(&inside, &function->kernel->entered);
	kernel_counts_add(&function->kernel->total, &inside);
}

static void sum_kernel_below(struct cct_node *root)
{
	struct kernel_counts done = { 0 };

	cct_walk(root, enter_kernel_node, leave_kernel_node, &done);
}

void cct_kernel_sum(struct cct *cct)
{
	struct cct_kernel_sums *sums;
	size_t count = 0;

	if (!cct->has_kernel)
		return;
	for (struct cct_function *function = cct->functions; function;
	     function = function->next)
		count++;
	sums = calloc(count, sizeof(*sums));
	if (!sums)
		return;
	cct->kernel_sums = sums;
	for (struct cct_function *function = cct->functions; function;
	     function = function->next)
		function->kernel = sums++;
	sum_kernel_below(cct->root);
	sum_kernel_below(cct->overflow);
}
