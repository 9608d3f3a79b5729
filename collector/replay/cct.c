/* SPDX-License-Identifier: Apache-2.0
 *
 * cct - nodes and functions are allocated from chunks, which grow with the
 * tree: a thread with few calls costs a page, and a busy thread makes few
 * allocations. The tree frees all chunks at once. cct_child() finds a child by
 * one of two guesses, or else in a hash table of all nodes, whose key is the
 * parent and the address.
 *
 * Each new function gets a node below "overflow". So its calls can be counted
 * even when there is no memory for new stacks.
 *
 * A retired function and its nodes stay in the tree, because their sums are
 * there. But they leave the hash tables, and the nodes lose their address, so
 * that no guess finds them.
 */
#include "collector/replay/cct.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/base/budget.h"
#include "shared/atomic.h"

#define CHUNK_BYTES_MIN 4096u
#define CHUNK_BYTES_MAX (1u << 20)
#define TABLE_MIN 64u
/* The members that a call needs of a node, and of a function, are in one cache
 * line. */
#define LINE_BYTES 64u

_Static_assert(offsetof(struct cct_node, total_ns) + 8 <= LINE_BYTES,
	       "one line");
_Static_assert(offsetof(struct cct_function, histogram) + 8 <= LINE_BYTES,
	       "one line");

struct cct_chunk {
	struct cct_chunk *next;
	size_t bytes;
	uint8_t data[] __attribute__((aligned(LINE_BYTES)));
};

/* The end of each chain of last and follow, so that cct_child() need not test
 * for NULL. No call has its address. */
static struct cct_node g_none = { .address = CCT_RETIRED, .follow = &g_none };

static bool add_chunk(struct cct *cct, size_t at_least)
{
	size_t bytes = cct->chunks
			       ? MIN(cct->chunks->bytes * 2, CHUNK_BYTES_MAX)
			       : CHUNK_BYTES_MIN;
	struct cct_chunk *chunk;

	bytes = ALIGN_UP(MAX(bytes, at_least + sizeof(*chunk)), LINE_BYTES);
	if (!budget_take(cct->budget, bytes))
		return false;
	chunk = aligned_alloc(LINE_BYTES, bytes);
	if (!chunk) {
		budget_give(cct->budget, bytes);
		return false;
	}
	chunk->next = cct->chunks;
	chunk->bytes = bytes;
	cct->chunks = chunk;
	cct->chunk_left = bytes - sizeof(*chunk);
	return true;
}

void *cct_memory(struct cct *cct, size_t bytes)
{
	bytes = ALIGN_UP(bytes, LINE_BYTES);
	if (cct->chunk_left < bytes && !add_chunk(cct, bytes))
		return NULL;
	cct->chunk_left -= bytes;
	return cct->chunks->data + cct->chunk_left;
}

static uint64_t mix_bits(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 32;
}

static uint64_t function_hash(uint64_t address)
{
	return mix_bits(address);
}

static uint64_t node_hash(const struct cct_node *parent, uint64_t address)
{
	return mix_bits(address ^ mix_bits((uintptr_t)parent));
}

static uint64_t entry_hash(const struct cct *cct, const struct cct_table *table,
			   const void *entry)
{
	const struct cct_node *node = entry;

	if (table == &cct->function_table)
		return function_hash(
			((const struct cct_function *)entry)->address);
	return node_hash(node->parent, node->address);
}

static void table_put(struct cct *cct, struct cct_table *table, void *entry)
{
	uint64_t i = entry_hash(cct, table, entry) & table->mask;

	while (table->entry[i])
		i = (i + 1) & table->mask;
	table->entry[i] = entry;
	table->count++;
}

/* Removes @entry, if present, and closes the gap in its probe chain. */
static void table_remove(struct cct *cct, struct cct_table *table, void *entry)
{
	uint64_t gap = entry_hash(cct, table, entry) & table->mask, home;

	while (table->entry[gap] != entry) {
		if (!table->entry[gap])
			return;
		gap = (gap + 1) & table->mask;
	}
	for (uint64_t i = (gap + 1) & table->mask; table->entry[i];
	     i = (i + 1) & table->mask) {
		home = entry_hash(cct, table, table->entry[i]);
		/* An entry may move if its way from home leads over the gap. */
		if (((i - home) & table->mask) < ((i - gap) & table->mask))
			continue;
		table->entry[gap] = table->entry[i];
		gap = i;
	}
	table->entry[gap] = NULL;
	table->count--;
}

static bool table_reserve(struct cct *cct, struct cct_table *table)
{
	struct cct_table old = *table;
	uint64_t size = old.entry ? 2 * (old.mask + 1ULL) : TABLE_MIN;

	if (old.entry && 2 * (old.count + 1) <= old.mask)
		return true;
	if (size > 1u << 31 || !budget_take(cct->budget, size * sizeof(void *)))
		return false;
	table->entry = calloc(size, sizeof(void *));
	if (!table->entry) {
		*table = old;
		budget_give(cct->budget, size * sizeof(void *));
		return false;
	}
	table->mask = (uint32_t)(size - 1);
	table->count = 0;
	for (uint64_t i = 0; old.entry && i <= old.mask; i++)
		if (old.entry[i])
			table_put(cct, table, old.entry[i]);
	if (old.entry)
		budget_give(cct->budget, (old.mask + 1ULL) * sizeof(void *));
	free(old.entry);
	return true;
}

static void table_release(struct cct *cct, struct cct_table *table)
{
	if (table->entry)
		budget_give(cct->budget, (table->mask + 1ULL) * sizeof(void *));
	free(table->entry);
}

/* @parent is NULL for a root. Returns NULL without memory. */
static struct cct_node *add_node(struct cct *cct, struct cct_node *parent,
				 struct cct_function *function)
{
	struct cct_node *node;

	if (!table_reserve(cct, &cct->node_table))
		return NULL;
	node = cct_memory(cct, sizeof(*node));
	if (!node)
		return NULL;
	*node = (struct cct_node){ .address = function->address,
				   .stamp = function->begin.name_iid &&
							    !function->off
						    ? CCT_PLAIN
						    : 0,
				   .function = function,
				   .parent = parent,
				   .last = &g_none,
				   .follow = &g_none,
				   .of_function = function->nodes };
	function->nodes = node;
	if (parent) {
		node->sibling = parent->child;
		parent->child = node;
		table_put(cct, &cct->node_table, node);
	}
	return node;
}

static struct cct_function *add_function(struct cct *cct, uint64_t address)
{
	struct cct_function *function;

	if (!table_reserve(cct, &cct->function_table))
		return NULL;
	function = cct_memory(cct, sizeof(*function));
	if (!function)
		return NULL;
	*function = (struct cct_function){ .address = address,
					   .generation = cct->generation,
					   .slow_ns = UINT64_MAX };
	if (cct->overflow && !add_node(cct, cct->overflow, function))
		return NULL;
	function->next = cct->functions;
	cct->functions = function;
	function->next_live = cct->live;
	cct->live = function;
	cct->live_count++;
	table_put(cct, &cct->function_table, function);
	return function;
}

struct cct_function *cct_find_function(const struct cct *cct, uint64_t address)
{
	const struct cct_table *table = &cct->function_table;
	uint64_t i = function_hash(address) & table->mask;
	struct cct_function *function;

	for (; (function = table->entry[i]); i = (i + 1) & table->mask)
		if (function->address == address)
			return function;
	return NULL;
}

static struct cct_node *find_or_add_node(struct cct *cct,
					 struct cct_node *parent,
					 uint64_t address)
{
	struct cct_table *table = &cct->node_table;
	uint64_t i = node_hash(parent, address) & table->mask;
	struct cct_function *function;
	struct cct_node *node;

	for (; (node = table->entry[i]); i = (i + 1) & table->mask)
		if (node->address == address && node->parent == parent)
			return node;
	function =
		cct_find_function(cct, address) ?: add_function(cct, address);
	if (!function)
		return NULL;
	if (parent != cct->overflow)
		return add_node(cct, parent, function);
	/* add_function() has just made it, except for address 0 of the
	 * roots. */
	return parent->child && parent->child->address == address
		       ? parent->child
		       : NULL;
}

struct cct_node *cct_child_slow(struct cct *cct, struct cct_node *parent,
				uint64_t address)
{
	struct cct_node *node = find_or_add_node(cct, parent, address);

	if (unlikely(!node)) {
		cct->overflowed++;
		node = find_or_add_node(cct, cct->overflow, address);
		return node ? node : cct->overflow;
	}
	if (parent->last != &g_none)
		parent->last->follow = node;
	parent->last = node;
	return node;
}

void cct_retire(struct cct *cct, uint64_t start, uint64_t end)
{
	struct cct_function **link = &cct->live, *function;

	while ((function = *link)) {
		if (function == cct->root->function ||
		    function->address < start || function->address >= end) {
			link = &function->next_live;
			continue;
		}
		*link = function->next_live;
		table_remove(cct, &cct->function_table, function);
		for (struct cct_node *node = function->nodes; node;
		     node = node->of_function) {
			table_remove(cct, &cct->node_table, node);
			node->address = CCT_RETIRED;
		}
		cct->live_count--;
	}
}

int cct_init(struct cct *cct, struct budget *budget)
{
	struct cct_function *function;

	*cct = (struct cct){ .budget = budget };
	if (table_reserve(cct, &cct->node_table) &&
	    table_reserve(cct, &cct->function_table)) {
		function = add_function(cct, 0);
		cct->root = function ? add_node(cct, NULL, function) : NULL;
		cct->overflow =
			cct->root ? add_node(cct, NULL, function) : NULL;
	}
	if (cct->overflow)
		return 0;
	cct_release(cct);
	return -ENOMEM;
}

void cct_release(struct cct *cct)
{
	struct cct_chunk *next;

	if (!cct->budget)
		return;
	table_release(cct, &cct->node_table);
	table_release(cct, &cct->function_table);
	for (struct cct_chunk *chunk = cct->chunks; chunk; chunk = next) {
		next = chunk->next;
		budget_give(cct->budget, chunk->bytes);
		free(chunk);
	}
	free(cct->kernel_sums);
	*cct = (struct cct){ 0 };
}

/* @done is perfrec's work in all nodes entered so far. */
static void enter_node(struct cct_node *node, void *context)
{
	struct own_counts *done = context;
	struct cct_function *function = node->function;
	const struct own_counts own = cct_own(node);
	const struct own_counts in_caller = cct_own_in_caller(node);

	function->calls += node->calls;
	function->unrecorded += node->unrecorded;
	function->cpu_samples += node->cpu_samples;
	function->self_ns += node->total_ns - node->stray_ns;
	if (node->parent->parent) { /* the root is not a function */
		node->parent->function->self_ns -= node->total_ns;
		own_counts_add(&node->parent->function->own_self, &in_caller);
		own_counts_add(done, &in_caller);
	}
	if (function->active++ == 0) {
		function->total_ns += node->total_ns;
		function->entered = *done;
	}
	own_counts_add(&function->own_self, &own);
	own_counts_add(done, &own);
}

static void leave_node(struct cct_node *node, void *context)
{
	const struct own_counts *done = context;
	struct cct_function *function = node->function;
	struct own_counts inside;

	if (--function->active)
		return;
	inside = own_counts_since(done, &function->entered);
	own_counts_add(&function->own_total, &inside);
}

/* Depth first without recursion: a stack may be a million deep. */
void cct_walk(struct cct_node *root, cct_visit *enter, cct_visit *leave,
	      void *context)
{
	struct cct_node *node = root->child;

	while (node) {
		enter(node, context);
		if (node->child) {
			node = node->child;
			continue;
		}
		while (node != root && !node->sibling) {
			leave(node, context);
			node = node->parent;
		}
		if (node == root)
			return;
		leave(node, context);
		node = node->sibling;
	}
}

static void sum_below(struct cct_node *root)
{
	struct own_counts done = { 0 };

	cct_walk(root, enter_node, leave_node, &done);
}

void cct_sum(struct cct *cct)
{
	struct cct_node *overflow = cct->overflow;

	sum_below(cct->root);
	sum_below(overflow);
	overflow->function->calls += overflow->calls;
	overflow->function->own_self.inner += overflow->calls;
	overflow->function->own_total.inner += overflow->calls;
	overflow->function->cpu_samples += overflow->cpu_samples;
	overflow->function->self_ns += overflow->total_ns;
	overflow->function->total_ns += overflow->total_ns;
}
