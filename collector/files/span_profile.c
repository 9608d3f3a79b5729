/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/span_profile.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/files/flat_stacks.h"
#include "collector/files/thread_stacks.h"
#include "collector/profile/stack_profile.h"
#include "collector/profile/stacks.h"
#include "collector/replay/cct_flat.h"
#include "shared/compiler.h"

/* Memory limit for the stacks of one tree, besides the tree itself. */
#define STACKS_BYTES (1ULL << 30)

/* Sets @values to the values of the nodes that have any; @number is the numbers
 * of their stacks. @sched is false if the kernel reported nothing about the
 * thread. Returns the number of values. */
static size_t collect_values(const struct cct_flat *flat, bool sched,
			     const uint32_t *number,
			     struct stack_values *values)
{
	const struct kernel_counts none = { 0 };
	size_t count = 0;

	for (size_t i = 1; i < flat->node_count; i++) {
		const struct flat_node *node = &flat->node[i];
		const struct kernel_counts *counts =
			flat->kernel ? &flat->kernel[i] : &none;
		struct stack_values *one = &values[count];

		*one = (struct stack_values){ .stack = number[i] };
		one->value[SPAN_CALLS] = (int64_t)node->calls;
		one->value[SPAN_WALL] = node->self_ns;
		one->value[SPAN_CPU_SAMPLES] = (int64_t)node->cpu_samples;
		one->value[SPAN_ON_CPU] = sched ? -(int64_t)counts->unknown_ns
						: -MAX(node->self_ns, 0);
		one->value[SPAN_RUNNABLE] = (int64_t)counts->runnable_ns;
		one->value[SPAN_BLOCKED] = (int64_t)counts->blocked_ns;
		one->value[SPAN_SWITCHES] = (int64_t)counts->switches;
		memcpy(&one->value[SPAN_OWN], &node->own, sizeof(node->own));
		count += node->calls || node->self_ns || node->cpu_samples;
	}
	return count;
}

static void add_tree(struct stack_profile *profile,
		     const struct thread_stacks *from,
		     const struct cct_flat *flat)
{
	struct budget budget = { .left = STACKS_BYTES };
	struct stack_values *values = calloc(flat->node_count, sizeof(*values));
	struct stacks *stacks = NULL;
	uint32_t *number = NULL;
	size_t count;

	if (values && stacks_new(&budget, &stacks) == 0)
		number = flat_stacks(flat, stacks);
	if (number) {
		count = collect_values(flat, from->sched, number, values);
		(void)stack_profile_add(profile, &from->owner, stacks,
					from->modules, values, count);
	}
	stacks_free(&stacks);
	free(number);
	free(values);
}

void span_profile_add(struct stack_profile *profile,
		      const struct thread_stacks *stacks)
{
	for (size_t i = 0; i < stacks->count; i++)
		add_tree(profile, stacks, &stacks->flat[i]);
}
