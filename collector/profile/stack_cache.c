/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_cache - the result of unwinding depends only on its reads: some
 * registers, some words of the stack, and files. Files do not change within an
 * edition. Each read depends only on the values of earlier reads. So the reads
 * of all unwound stacks form a tree. A node names the register or word to read
 * next; its children are the values that were read there; a leaf has the number
 * of a stack. A look-up walks down the tree from the instruction pointer and
 * makes only the reads that unwinding would make, a word or two per frame. So
 * it finds exactly the result of unwinding. A value without a node means that
 * the stack is new.
 *
 * The same call occurs at many depths and on many stacks. So a value that
 * points into the stack (less than UNWIND_WINDOW above the stack pointer) is
 * stored relative to the stack pointer: a moved copy of a stack has the same
 * key. That is exact because unwinding only adds constants to such values,
 * reads at them, and compares them with the stack pointer. A function that
 * aligns its frame may also mask low bits, so the key contains the lowest six
 * bits of the stack pointer.
 */
#include "collector/profile/stack_cache.h"

#include <string.h>

#include "collector/base/budget.h"
#include "shared/record_ext.h"

#define ALIGNMENT 64u
#define ROOT UINT32_MAX

/* The kind of the value that leads to a node. */
enum tag {
	TAG_ABSOLUTE,
	TAG_RELATIVE, /* to the stack pointer */
	TAG_FAILED, /* beyond the copy, or unknown */
	TAG_START, /* the instruction pointer; and the lowest bits of sp */
};

enum next {
	NEXT_REGISTER = UNWIND_REGISTER,
	NEXT_WORD = UNWIND_WORD,
	NEXT_STACK, /* where: its number */
};

struct node {
	uint64_t value;
	uint32_t parent, tag;

	uint32_t next, where;
};

void stack_cache_init(struct stack_cache *cache, struct budget *budget)
{
	*cache = (struct stack_cache){ .edition = 0 };
	pool_init(&cache->nodes, budget, sizeof(struct node),
		  offsetof(struct node, next));
}

void stack_cache_release(struct stack_cache *cache)
{
	pool_release(&cache->nodes);
}

static void forget_stacks(struct stack_cache *cache)
{
	struct budget *budget = cache->nodes.budget;

	pool_release(&cache->nodes);
	pool_init(&cache->nodes, budget, sizeof(struct node),
		  offsetof(struct node, next));
}

static uint64_t stack_pointer_of(const struct unwind_stack *stack)
{
	return stack->reg[RECORD_REG_SP];
}

static struct node first_node_key(const struct unwind_stack *stack)
{
	return (struct node){ .value = stack->reg[RECORD_REG_IP],
			      .parent = ROOT,
			      .tag = TAG_START +
				     (uint32_t)(stack_pointer_of(stack) %
						ALIGNMENT) };
}

static struct node node_key(const struct unwind_stack *stack, uint32_t parent,
			    uint64_t value, bool failed)
{
	struct node key = { .value = value, .parent = parent };

	if (failed) {
		key.value = 0;
		key.tag = TAG_FAILED;
	} else if (value - stack_pointer_of(stack) < UNWIND_WINDOW) {
		key.value = value - stack_pointer_of(stack);
		key.tag = TAG_RELATIVE;
	}
	return key;
}

static struct node ask_for_next_key(const struct unwind_stack *stack,
				    uint32_t number, const struct node *node)
{
	uint64_t value = 0;

	if (node->next == NEXT_REGISTER)
		return node_key(stack, number, stack->reg[node->where],
				stack->unknown_reg >> node->where & 1);
	if ((uint64_t)node->where + sizeof(value) > stack->stack_bytes)
		return node_key(stack, number, 0, true);
	memcpy(&value, stack->stack + node->where, sizeof(value));
	return node_key(stack, number, value, false);
}

bool stack_cache_find(struct stack_cache *cache, uint64_t edition,
		      const struct unwind_stack *stack, uint32_t *out)
{
	struct node key = first_node_key(stack);
	const struct node *node;
	uint32_t number;

	if (edition != cache->edition)
		forget_stacks(cache);
	cache->edition = edition;
	while (pool_find(&cache->nodes, &key, &number)) {
		node = (struct node *)cache->nodes.items + number;
		if (node->next == NEXT_STACK) {
			*out = node->where;
			cache->hits++;
			return true;
		}
		key = ask_for_next_key(stack, number, node);
	}
	return false;
}

void stack_cache_add(struct stack_cache *cache,
		     const struct unwind_stack *stack,
		     const struct unwind_result *result, uint32_t number)
{
	struct node key = first_node_key(stack);
	uint32_t node;

	if (!result->repeatable)
		return;
	for (size_t i = 0; i <= result->read_count; i++) {
		const struct unwind_read *read = &result->read[i];

		if (i == result->read_count) {
			key.next = NEXT_STACK;
			key.where = number;
		} else {
			key.next = (uint32_t)read->query;
			key.where = read->where;
		}
		if (pool_intern(&cache->nodes, &key, &node) < 0) {
			forget_stacks(cache);
			return;
		}
		if (i < result->read_count)
			key = node_key(stack, node, read->value, read->failed);
	}
}
