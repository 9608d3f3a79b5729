/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/base/budget.h"
#include "collector/replay/cct.h"
#include "tests/suite.h"

static struct budget g_budget;
static struct cct g_cct;

static void setup(void)
{
	g_budget.left = 1 << 20;
	ck_assert_int_eq(cct_init(&g_cct, &g_budget), 0);
}

static void teardown(void)
{
	cct_release(&g_cct);
	ck_assert_uint_eq(g_budget.left, 1 << 20);
}

static struct cct_node *call(struct cct_node *parent, uint64_t address,
			     uint64_t ns)
{
	struct cct_node *node = cct_child(&g_cct, parent, address);

	cct_count(node, parent, ns);
	return node;
}

static const struct cct_function *function(uint64_t address)
{
	const struct cct_function *f = g_cct.functions;

	while (f && f->address != address)
		f = f->next;
	ck_assert_ptr_nonnull(f);
	return f;
}

FIXTURE(setup, teardown);

TEST(cct_same_stack_is_same_node)
{
	struct cct_node *a = call(g_cct.root, 1, 10);
	struct cct_node *b = call(g_cct.root, 2, 10);

	for (int i = 0; i < 10; i++) {
		ck_assert_ptr_eq(cct_child(&g_cct, g_cct.root, 1), a);
		ck_assert_ptr_eq(cct_child(&g_cct, g_cct.root, 2), b);
	}
	ck_assert_ptr_ne(cct_child(&g_cct, a, 2), b);
}

TEST(cct_many_children_are_all_found)
{
	struct cct_node *node[500];

	for (uint64_t i = 0; i < 500; i++)
		node[i] = cct_child(&g_cct, g_cct.root, i * 16);
	for (uint64_t i = 0; i < 500; i++)
		ck_assert_ptr_eq(
			cct_child(&g_cct, g_cct.root, i * 7 % 500 * 16),
			node[i * 7 % 500]);
}

TEST(cct_sum_tells_self_from_total)
{
	struct cct_node *a = call(g_cct.root, 1, 100);

	call(a, 2, 30);
	call(a, 2, 20);
	call(call(a, 3, 25), 2, 5);
	cct_sum(&g_cct);
	ck_assert_uint_eq(function(1)->self_ns, 25);
	ck_assert_uint_eq(function(1)->total_ns, 100);
	ck_assert_uint_eq(function(2)->calls, 3);
	ck_assert_uint_eq(function(2)->self_ns, 55);
	ck_assert_uint_eq(function(3)->self_ns, 20);
}

TEST(cct_sum_counts_total_of_recursion_once)
{
	struct cct_node *a = call(g_cct.root, 1, 100);

	call(call(call(a, 2, 80), 1, 60), 1, 10);
	cct_sum(&g_cct);
	ck_assert_uint_eq(function(1)->total_ns, 100);
	ck_assert_uint_eq(function(1)->self_ns, 20 + 50 + 10);
	ck_assert_uint_eq(function(1)->calls, 3);
	ck_assert_uint_eq(function(2)->total_ns, 80);
	ck_assert_uint_eq(function(2)->self_ns, 20);
}

static void own_is(const struct own_counts *own, uint64_t inner, uint64_t outer,
		   uint64_t counted, uint64_t blocks, uint64_t wait_ns)
{
	ck_assert_uint_eq(own->inner, inner);
	ck_assert_uint_eq(own->outer, outer);
	ck_assert_uint_eq(own->counted, counted);
	ck_assert_uint_eq(own->blocks, blocks);
	ck_assert_uint_eq(own->wait_ns, wait_ns);
}

/* 1 calls 2, 2 calls 1, 1 calls 3 twice; 5 more calls of 3 were counted. */
TEST(cct_sum_tells_what_perfrec_did_in_each_time)
{
	struct cct_node *a = call(g_cct.root, 1, 100);
	struct cct_node *b = call(a, 2, 80);
	struct cct_node *c = call(b, 1, 60);
	struct cct_node *d;

	call(c, 3, 10);
	d = call(c, 3, 10);
	d->unrecorded = 5;
	d->blocks = 2;
	b->blocks = 4;
	c->wait_ns = 7;
	call(g_cct.root, 3, 10);
	cct_sum(&g_cct);
	own_is(&function(1)->own_self, 2, 1 + 2, 5, 0, 7);
	own_is(&function(2)->own_self, 1, 1, 0, 4, 0);
	own_is(&function(3)->own_self, 3, 0, 0, 2, 0);
	/* The costs outside the outermost call belong to its caller. */
	own_is(&function(1)->own_total, 5, 4, 5, 6, 7);
	own_is(&function(2)->own_total, 4, 3, 5, 6, 7);
	own_is(&function(3)->own_total, 3, 0, 0, 2, 0);
	ck_assert_uint_eq(function(3)->calls, 3);
	ck_assert_uint_eq(function(3)->unrecorded, 5);
}

TEST(cct_sum_of_a_million_deep_stack_ends)
{
	struct cct_node *node = g_cct.root;

	g_budget.left += 1ULL << 30;
	for (int i = 0; i < 1000000; i++)
		node = call(node, 1 + i % 3, 1000001 - i);
	cct_sum(&g_cct);
	ck_assert_uint_eq(function(1)->total_ns, 1000001);
	ck_assert_uint_eq(function(1)->calls + function(2)->calls +
				  function(3)->calls,
			  1000000);
	g_budget.left -= 1ULL << 30;
}

TEST(cct_without_memory_keeps_calls_and_self_times)
{
	struct cct_node *node = g_cct.root, *parent;
	uint64_t calls = 0;

	/* A stack of two alternating functions outgrows the budget. */
	for (uint64_t i = 0; i < 100000; i++) {
		parent = node;
		node = cct_child(&g_cct, parent, 1 + i % 2);
		cct_count(node, parent, 200000 - i);
	}
	ck_assert_uint_gt(g_cct.overflowed, 0);
	cct_sum(&g_cct);
	for (struct cct_function *f = g_cct.functions; f; f = f->next)
		calls += f->calls;
	ck_assert_uint_eq(calls, 100000);
	ck_assert_uint_eq(function(1)->calls, 50000);
	/* Each call has 1 ns of its own; the innermost has the rest. */
	ck_assert_uint_eq(function(1)->self_ns, 50000);
	ck_assert_uint_eq(function(2)->self_ns, 49999 + 100001);
	/* The teardown expects a whole budget. */
	ck_assert_uint_lt(g_budget.left, 1 << 20);
}

TEST(cct_retired_function_is_never_found_again)
{
	struct cct_node *old = call(g_cct.root, 5, 10), *new;
	struct cct_node *below = call(old, 6, 3);

	cct_retire(&g_cct, 5, 6);
	g_cct.generation = 2;
	new = call(g_cct.root, 5, 100);
	ck_assert_ptr_ne(new, old);
	ck_assert_ptr_ne(new->function, old->function);
	ck_assert_uint_eq(new->function->generation, 2);
	ck_assert_uint_eq(old->function->generation, 0);
	ck_assert_uint_eq(old->function->address, 5);
	ck_assert_ptr_eq(cct_child(&g_cct, g_cct.root, 5), new);
	/* An open call of the retired function may make more calls. */
	ck_assert_ptr_eq(cct_child(&g_cct, old, 6), below);
	ck_assert_ptr_ne(cct_child(&g_cct, old, 5), old);
	cct_sum(&g_cct);
	ck_assert_uint_eq(old->function->calls, 1);
	ck_assert_uint_eq(old->function->self_ns, 7);
	ck_assert_uint_eq(new->function->calls, 1);
}

TEST(cct_retire_leaves_all_others_findable)
{
	enum { FUNCTIONS = 600 };
	struct cct_node *node[FUNCTIONS], *inner[FUNCTIONS];

	g_budget.left += 1 << 20;
	for (uint64_t i = 0; i < FUNCTIONS; i++) {
		node[i] = call(g_cct.root, 16 + i, 2);
		inner[i] = call(node[0], 16 + i, 1);
	}
	for (uint64_t at = 16; at < 16 + FUNCTIONS; at += 7)
		cct_retire(&g_cct, at, at + 3);
	for (uint64_t i = 0; i < FUNCTIONS; i++) {
		bool gone = i % 7 < 3;

		ck_assert_int_eq(cct_child(&g_cct, g_cct.root, 16 + i) ==
					 node[i],
				 !gone);
		ck_assert_int_eq(cct_child(&g_cct, node[0], 16 + i) == inner[i],
				 !gone);
	}
	ck_assert_uint_eq(g_cct.live_count, 1 + FUNCTIONS);
	g_budget.left -= 1 << 20;
}

TEST(cct_retire_all_keeps_the_root)
{
	struct cct_node *old = call(g_cct.root, 5, 10);

	cct_retire(&g_cct, 0, UINT64_MAX);
	ck_assert_uint_eq(g_cct.live_count, 1);
	ck_assert_ptr_ne(call(g_cct.root, 5, 10), old);
	ck_assert_uint_eq(g_cct.root->address, 0);
}

TEST(cct_reload_all_the_time_stays_fast)
{
	/* Quadratic time in the retired functions would take minutes. */
	g_budget.left += 1ULL << 30;
	for (int i = 0; i < 300000; i++) {
		call(g_cct.root, 16, 1);
		cct_retire(&g_cct, 16, 17);
	}
	ck_assert_uint_eq(g_cct.live_count, 1);
	ck_assert_uint_lt(g_cct.node_table.count, 2);
	g_budget.left -= 1ULL << 30;
}

TEST(cct_budget_is_never_overdrawn)
{
	struct budget budget = { .left = 100 };

	ck_assert(!budget_take(&budget, 101));
	ck_assert(budget_take(&budget, 100));
	ck_assert(!budget_take(&budget, 1));
	budget_give(&budget, 100);
	ck_assert_uint_eq(budget.left, 100);
}
