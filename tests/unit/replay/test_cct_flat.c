/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/cct_flat.h"

#include "tests/unit/replay_text.h"
#include "tests/suite.h"

static struct replay_text *g_text;
static struct cct_flat g_flat;

static void set_up(void)
{
	g_text = replay_text_new();
}

static void tear_down(void)
{
	cct_flat_release(&g_flat);
	replay_text_free(g_text);
}

static void run(const struct record *records, size_t count)
{
	ck_assert_int_eq(fibers_run(&g_text->fibers, records, count, UINT64_MAX,
				    &(size_t){ 0 }),
			 0);
	fibers_flush(&g_text->fibers);
}

static void copy(uint64_t ns)
{
	cct_flat_release(&g_flat);
	ck_assert_int_eq(
		cct_flat_copy(&g_text->replay, REPLAY_START_NS + ns, &g_flat),
		0);
}

/* @caller 0: the root. */
static const struct flat_node *node_of(uint64_t address, uint64_t caller)
{
	for (size_t i = 1; i < g_flat.node_count; i++) {
		const struct flat_node *node = &g_flat.node[i];
		const struct flat_node *parent = &g_flat.node[node->parent];

		ck_assert_uint_lt(node->parent, i);
		if (g_flat.function[node->function].address == address &&
		    g_flat.function[parent->function].address == caller)
			return node;
	}
	ck_abort_msg("no such node");
	return NULL;
}

FIXTURE(set_up, tear_down);

TEST(cct_flat_copy_of_open_calls_counts_them_up_to_now)
{
	const struct record records[] = {
		rec(RECORD_BEGIN, 1, 0x900, 0),
		rec(RECORD_BEGIN, 2, 0x800, 10),
		rec(RECORD_END, 2, 0x800, 30),
		rec(RECORD_BEGIN, 2, 0x800, 40),
	};

	run(records, 4);
	copy(100);
	ck_assert_uint_eq(node_of(1, 0)->calls, 1);
	ck_assert_int_eq(node_of(1, 0)->self_ns, 100 - 20 - 60);
	ck_assert_uint_eq(node_of(2, 1)->calls, 2);
	ck_assert_int_eq(node_of(2, 1)->self_ns, 20 + 60);
	/* The copy changed nothing, and a later copy counts more time. */
	copy(200);
	ck_assert_uint_eq(node_of(2, 1)->calls, 2);
	ck_assert_int_eq(node_of(2, 1)->self_ns, 20 + 160);
}

TEST(cct_flat_copy_of_ended_calls_is_what_cct_sum_says)
{
	struct record records[64];
	struct cct *cct = &g_text->replay.cct;
	const struct cct_function *function;
	size_t count = 0;

	for (unsigned int i = 0; i < 8; i++) {
		records[count++] = rec(RECORD_BEGIN, 1 + i % 3, 0x900, 10 * i);
		records[count++] = rec(RECORD_BEGIN, 9, 0x800, 10 * i + 2);
		records[count++] =
			rec(RECORD_END, 9, 0x800, 10 * i + 5 + i / 4);
		records[count++] =
			rec(RECORD_END, 1 + i % 3, 0x900, 10 * i + 9);
	}
	run(records, count);
	copy(0);
	cct_sum(cct);
	for (function = cct->functions; function; function = function->next) {
		uint64_t calls = 0, self_ns = 0;

		for (size_t i = 1; i < g_flat.node_count; i++) {
			const struct flat_node *node = &g_flat.node[i];

			if (!node->function ||
			    g_flat.function[node->function].address !=
				    function->address)
				continue;
			calls += node->calls;
			self_ns += (uint64_t)node->self_ns;
		}
		ck_assert_uint_eq(calls, function->calls);
		ck_assert_uint_eq(self_ns, function->self_ns);
	}
	ck_assert_uint_eq(node_of(9, 1)->calls, 3);
}

/* A BEGIN that waited for room waited in its caller. */
TEST(cct_flat_copy_tells_what_perfrec_did_in_each_node)
{
	const struct record records[] = {
		rec(RECORD_BEGIN, 1, 0x900, 0),
		rec(RECORD_BEGIN, 2, 0x800, 10),
		rec(RECORD_END, 2, 0x800, 30),
		rec(RECORD_WAIT, 9, 0, 32),
		rec(RECORD_BEGIN, 2, 0x800, 41),
	};

	run(records, 5);
	copy(100);
	ck_assert_uint_eq(node_of(1, 0)->own.inner, 1);
	ck_assert_uint_eq(node_of(1, 0)->own.outer, 2);
	ck_assert_uint_eq(node_of(1, 0)->own.wait_ns, 9);
	ck_assert_uint_eq(node_of(2, 1)->own.inner, 2);
	ck_assert_uint_eq(node_of(2, 1)->own.outer, 0);
	ck_assert_uint_eq(node_of(2, 1)->own.wait_ns, 0);
}

TEST(cct_flat_copy_leaves_out_what_was_never_called)
{
	const struct record record = rec(RECORD_BEGIN, 1, 0x900, 0);

	run(&record, 1);
	copy(1);
	/* root, overflow and the call */
	ck_assert_uint_eq(g_flat.node_count, 3);
}

TEST(cct_flat_copy_without_room_says_overflow)
{
	struct record records[2] = { rec(RECORD_BEGIN, 1, 0x900, 0),
				     rec(RECORD_END, 1, 0x900, 5) };
	uint64_t before = g_text->budget.left, calls = 0;

	g_text->budget.left = 0;
	for (unsigned int i = 0; i < 1000; i++) {
		records[0] = rec(RECORD_BEGIN, 1 + i, 0x900, 10 * i);
		records[1] = rec(RECORD_END, 1 + i, 0x900, 10 * i + 5);
		run(records, 2);
	}
	copy(0);
	for (size_t i = 1; i < g_flat.node_count; i++)
		calls += g_flat.node[i].calls;
	ck_assert_uint_eq(calls, 1000);
	ck_assert_uint_gt(g_text->replay.cct.overflowed, 0);
	g_text->budget.left = before;
}

TEST(cct_flat_copy_leaves_out_what_lies_too_deep)
{
	const struct record records[] = {
		rec(RECORD_BEGIN, 1, 0x900, 0),
		rec(RECORD_BEGIN, 2, 0x800, 10),
	};

	replay_limit(&g_text->replay, 1);
	run(records, 2);
	copy(20);
	ck_assert_uint_eq(g_flat.node_count, 3); /* root, overflow and 1 */
	ck_assert_uint_eq(node_of(1, 0)->calls, 1);
	ck_assert_int_eq(node_of(1, 0)->self_ns, 20);
}
