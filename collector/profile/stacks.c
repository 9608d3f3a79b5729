/* SPDX-License-Identifier: Apache-2.0
 *
 * stacks - a pool of nodes. A node is its own key: a frame and the number of
 * the calling stack. The empty stack and the stack of FRAME_OTHER are not in
 * the pool, so they need no memory.
 *
 * One lock suffices: hot callers cache the numbers.
 */
#include "collector/profile/stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/base/lock.h"
#include "collector/base/pool.h"
#include "shared/compiler.h"

/* Numbers: the root, FRAME_OTHER, then the nodes of the pool. */
#define OTHER 1u
#define FIRST 2u

struct node {
	uint64_t address;
	uint32_t generation, kind;
	uint32_t parent;
	uint32_t zero; /* all of it is the key: no padding */
};

struct stacks {
	struct lock lock;
	struct pool nodes;
	uint64_t lost;
};

int stacks_new(struct budget *budget, struct stacks **out)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	lock_init(&stacks->lock, LOCK_STACKS);
	pool_init(&stacks->nodes, budget, sizeof(struct node),
		  sizeof(struct node));
	*out = stacks;
	return 0;
}

void stacks_free(struct stacks **stacks)
{
	struct stacks *old = *stacks;

	*stacks = NULL;
	if (!old)
		return;
	pool_release(&old->nodes);
	lock_destroy(&old->lock);
	free(old);
}

/* Under lock. */
static uint32_t intern_node(struct stacks *stacks, const struct node *node)
{
	uint32_t number;

	/* The callees of FRAME_OTHER are not distinguished. */
	if (node->parent == OTHER ||
	    (node->parent == STACKS_ROOT && node->kind == FRAME_NAMED &&
	     node->address == FRAME_OTHER))
		return OTHER;
	if (pool_intern(&stacks->nodes, node, &number) < 0) {
		stacks->lost++;
		return OTHER;
	}
	return number + FIRST;
}

/* Under lock. */
static struct node node_at(const struct stacks *stacks, uint32_t stack)
{
	if (stack == OTHER)
		return (struct node){ .address = FRAME_OTHER,
				      .kind = FRAME_NAMED };
	if (stack < FIRST || stack - FIRST >= stacks->nodes.count)
		return (struct node){ 0 };
	return ((struct node *)stacks->nodes.items)[stack - FIRST];
}

uint32_t stacks_child(struct stacks *stacks, uint32_t parent,
		      const struct stack_frame *frame)
{
	const struct node node = { .address = frame->address,
				   .generation = frame->generation,
				   .kind = frame->kind,
				   .parent = parent };
	return LOCKED(&stacks->lock, intern_node(stacks, &node));
}

uint32_t stacks_below(struct stacks *stacks, uint32_t root, uint32_t stack)
{
	uint32_t path[STACKS_BELOW_MAX], depth = 0;
	struct node node;

	lock_acquire(&stacks->lock);
	for (; stack != STACKS_ROOT && depth < ARRAY_SIZE(path);
	     stack = node_at(stacks, stack).parent)
		path[depth++] = stack;
	while (depth) {
		node = node_at(stacks, path[--depth]);
		node.parent = root;
		root = intern_node(stacks, &node);
	}
	lock_release(&stacks->lock);
	return root;
}

static struct node stack_node_of(struct stacks *stacks, uint32_t stack)
{
	return LOCKED(&stacks->lock, node_at(stacks, stack));
}

uint32_t stacks_parent(struct stacks *stacks, uint32_t stack)
{
	return stack_node_of(stacks, stack).parent;
}

struct stack_frame stacks_frame(struct stacks *stacks, uint32_t stack)
{
	const struct node node = stack_node_of(stacks, stack);

	return (struct stack_frame){ .address = node.address,
				     .generation = node.generation,
				     .kind = node.kind };
}

const char *stacks_frame_name(uint64_t name)
{
	static const char *const names[] = {
		[FRAME_KERNEL] = "[kernel]",
		[FRAME_UNKNOWN] = "[unknown]",
		[FRAME_CUT] = "[truncated]",
		[FRAME_OTHER] = "[other stacks]",
		[FRAME_SHORT] = "[short threads]",
		[FRAME_PROBED] = "[uretprobe]",
		[FRAME_PERFREC] = "[perfrec]",
	};

	if (name >= ARRAY_SIZE(names) || !names[name])
		name = FRAME_UNKNOWN;
	return names[name];
}

uint32_t stacks_count(struct stacks *stacks)
{
	return LOCKED(&stacks->lock, stacks->nodes.count + FIRST);
}

uint64_t stacks_lost(struct stacks *stacks)
{
	return LOCKED(&stacks->lock, stacks->lost);
}
