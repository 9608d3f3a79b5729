/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/cct_flat.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/replay/cct_kernel.h"
#include "collector/replay/replay_inner.h"
#include "shared/compiler.h"

struct copy {
	const struct cct *cct;
	struct cct_flat *out;
	size_t room;
};

static int copy_functions(struct copy *copy)
{
	struct cct_flat *out = copy->out;
	size_t count = 1;

	for (struct cct_function *function = copy->cct->functions; function;
	     function = function->next)
		count++;
	out->function = calloc(count, sizeof(*out->function));
	if (!out->function)
		return -ENOMEM;
	out->function_count = count;
	for (struct cct_function *function = copy->cct->functions; function;
	     function = function->next) {
		function->index = (uint32_t)--count;
		out->function[function->index] =
			(struct flat_function){ function->address,
						function->generation };
	}
	return 0;
}

/* The roots are not functions: they lose no time to their callees. */
static bool is_root_node(const struct cct_node *node)
{
	return !node->parent;
}

static int copy_node(struct copy *copy, struct cct_node *node)
{
	struct cct_flat *out = copy->out;
	const struct cct_node *parent = node->parent;
	const struct own_counts in_caller = cct_own_in_caller(node);
	struct flat_node *flat;

	if (grow_array(out->node, copy->room, out->node_count + 1))
		return -ENOMEM;
	node->index = (uint32_t)out->node_count++;
	flat = &out->node[node->index];
	*flat = (struct flat_node){ .calls = node->calls + node->unrecorded,
				    .cpu_samples = node->cpu_samples,
				    .own = cct_own(node) };
	flat->self_ns = (int64_t)node->total_ns;
	if (is_root_node(node))
		return 0;
	flat->self_ns -= (int64_t)node->stray_ns;
	flat->function = node->function->index;
	flat->parent = parent->index;
	if (is_root_node(parent))
		return 0;
	out->node[flat->parent].self_ns -= (int64_t)node->total_ns;
	own_counts_add(&out->node[flat->parent].own, &in_caller);
	return 0;
}

/* Depth first without recursion: a stack may be a million deep. */
static int copy_nodes_below(struct copy *copy, struct cct_node *root)
{
	struct cct_node *node = root;
	int err = copy_node(copy, root);

	for (;;) {
		if (!err && node->child) {
			node = node->child;
		} else {
			while (node != root && !node->sibling)
				node = node->parent;
			if (err || node == root)
				return err;
			node = node->sibling;
		}
		/* Most nodes below overflow were never called. Nodes of
		 * open calls have an index. */
		if (node->calls || node->unrecorded || node->child ||
		    node->index || node->kernel)
			err = copy_node(copy, node);
	}
}

static void copy_kernel_of(struct cct_flat *out, const struct cct_node *root)
{
	const struct cct_node *node = root;

	for (;;) {
		if (node->kernel && node->index < out->node_count) {
			out->kernel[node->index] = cct_kernel_counts(node);
			memcpy(out->waits[node->index].kind,
			       node->kernel->waits,
			       sizeof(node->kernel->waits));
		}
		if (node->child) {
			node = node->child;
			continue;
		}
		while (node != root && !node->sibling)
			node = node->parent;
		if (node == root)
			return;
		node = node->sibling;
	}
}

/* As if they ended at @now_ns; see cct_count(). */
static void count_open_spans(struct replay *replay, uint64_t now_ns,
			     struct cct_flat *out)
{
	for (struct replay_frame *frame = replay->stack + 1;
	     frame <= replay->top; frame++) {
		const struct cct_node *node = frame->node;
		const struct cct_node *caller = frame[-1].node;
		int64_t ns = (int64_t)(now_ns - frame->begin_ns);

		if (replay_is_phantom(frame) || frame->cut)
			continue;
		out->node[node->index].calls++;
		out->node[node->index].own.inner++;
		out->node[node->index].self_ns += ns;
		if (!is_root_node(node) && !is_root_node(node->parent)) {
			out->node[node->parent->index].own.outer++;
			out->node[node->parent->index].self_ns -= ns;
		}
		if (node->parent != caller && !is_root_node(caller))
			out->node[caller->index].self_ns -= ns;
	}
}

int cct_flat_copy(struct replay *replay, uint64_t now_ns, struct cct_flat *out)
{
	const struct cct *cct = &replay->cct;
	struct cct_flat flat = { 0 };
	struct copy copy = { .cct = cct, .out = &flat };
	int err = copy_functions(&copy);

	if (!err) {
		for (struct replay_frame *frame = replay->stack + 1;
		     frame <= replay->top; frame++)
			frame->node->index = UINT32_MAX;
		err = copy_nodes_below(&copy, cct->root);
	}
	if (!err)
		err = copy_nodes_below(&copy, cct->overflow);
	if (!err && cct->has_kernel) {
		flat.kernel = calloc(flat.node_count, sizeof(*flat.kernel));
		flat.waits = calloc(flat.node_count, sizeof(*flat.waits));
		if (flat.kernel && flat.waits) {
			copy_kernel_of(&flat, cct->root);
			copy_kernel_of(&flat, cct->overflow);
		} else {
			err = -ENOMEM;
		}
	}
	if (err) {
		cct_flat_release(&flat);
		return err;
	}
	count_open_spans(replay, MAX(now_ns, replay->last_ns), &flat);
	*out = flat;
	return 0;
}

void cct_flat_release(struct cct_flat *flat)
{
	free(flat->function);
	free(flat->node);
	free(flat->kernel);
	free(flat->waits);
	*flat = (struct cct_flat){ 0 };
}
