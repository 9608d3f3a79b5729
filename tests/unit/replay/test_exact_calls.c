/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/exact_calls.h"

#include "collector/replay/cct_flat.h"
#include "tests/suite.h"
#include "tests/unit/replay_text.h"

static struct replay_text *g_text;

static void setup(void)
{
	g_text = replay_text_new();
}

static void teardown(void)
{
	replay_text_free(g_text);
}

#define B(function, sp, ns) rec(RECORD_BEGIN, function, sp, ns)
#define E(function, sp, ns) rec(RECORD_END, function, sp, ns)
#define TAKE(...)                              \
	take((struct record[]){ __VA_ARGS__ }, \
	     sizeof((struct record[]){ __VA_ARGS__ }) / sizeof(struct record))
#define CALLED(function, generation_, calls_)                       \
	{                                                           \
		.address = (function), .generation = (generation_), \
		.calls = (calls_)                                   \
	}
#define SET(...)                                            \
	set((struct exact_calls[]){ __VA_ARGS__ },          \
	    sizeof((struct exact_calls[]){ __VA_ARGS__ }) / \
		    sizeof(struct exact_calls))

static void take(const struct record *records, size_t count)
{
	size_t done;

	ck_assert_int_eq(
		fibers_run(&g_text->fibers, records, count, UINT64_MAX, &done),
		0);
	fibers_flush(&g_text->fibers);
}

static void set(struct exact_calls *exact, size_t count)
{
	ck_assert_int_eq(exact_calls_set(&g_text->fibers, exact, count), 0);
}

/* In the tree of stack @fiber; @caller 0: the root. */
static struct cct_node *node_of(uint32_t fiber, uint64_t address,
				uint64_t caller)
{
	struct cct *cct = &g_text->fibers.fiber[fiber].replay->cct;

	for (struct cct_function *function = cct->functions; function;
	     function = function->next)
		for (struct cct_node *node = function->nodes; node;
		     node = node->of_function)
			if (function->address == address && node->parent &&
			    node->parent != cct->overflow &&
			    node->parent->function->address == caller)
				return node;
	ck_abort_msg("no such node");
	return NULL;
}

FIXTURE(setup, teardown);

/* Counted calls renumber the nodes. */
TEST(exact_calls_change_nothing_in_the_index)
{
	TAKE(B(1, 0x900, 0), B(2, 0x800, 5), E(2, 0x800, 7), B(3, 0x800, 7),
	     E(3, 0x800, 8));
	SET(CALLED(2, 0, 3), CALLED(3, 0, 5));
	TAKE(B(3, 0x800, 8), E(3, 0x800, 9), E(1, 0x900, 10));
	fibers_finish(&g_text->fibers, 0);
	fibers_flush(&g_text->fibers);
	/* index_check.h has checked its sums against the slices. */
	ck_assert_uint_eq(g_text->track[0].index->chunks, 1);
}

TEST(exact_calls_are_spread_as_recorded_ones)
{
	TAKE(B(1, 0x900, 0), B(3, 0x800, 1), E(3, 0x800, 2), B(3, 0x800, 3),
	     E(3, 0x800, 4), B(3, 0x800, 5), E(3, 0x800, 6), E(1, 0x900, 7),
	     B(2, 0x900, 8), B(3, 0x800, 9), E(3, 0x800, 10), E(2, 0x900, 11));
	SET(CALLED(3, 0, 400), CALLED(1, 0, 1), CALLED(2, 0, 10));
	ck_assert_uint_eq(node_of(0, 3, 1)->unrecorded, 297);
	ck_assert_uint_eq(node_of(0, 3, 2)->unrecorded, 99);
	ck_assert_uint_eq(node_of(0, 1, 0)->unrecorded, 0);
	ck_assert_uint_eq(node_of(0, 2, 0)->unrecorded, 9);
	SET(CALLED(3, 0, 800));
	ck_assert_uint_eq(node_of(0, 3, 1)->unrecorded, 597);
	ck_assert_uint_eq(node_of(0, 2, 0)->unrecorded, 9);
}

TEST(exact_calls_that_are_open_are_recorded)
{
	struct cct_flat flat;
	uint64_t calls = 0;

	TAKE(B(1, 0x900, 0), B(1, 0x800, 1), B(1, 0x700, 2), E(1, 0x700, 3));
	SET(CALLED(1, 0, 3));
	ck_assert_uint_eq(node_of(0, 1, 0)->unrecorded, 0);
	SET(CALLED(1, 0, 10));
	ck_assert_int_eq(cct_flat_copy(&g_text->replay, 0, &flat), 0);
	for (size_t i = 1; i < flat.node_count; i++)
		calls += flat.node[i].calls;
	ck_assert_uint_eq(calls, 10);
	cct_flat_release(&flat);
}

TEST(exact_calls_without_a_record_have_unknown_callers)
{
	TAKE(B(1, 0x900, 0), E(1, 0x900, 7));
	SET(CALLED(5, 0, 40));
	ck_assert_uint_eq(node_of(0, 5, CCT_UNKNOWN_CALLERS)->unrecorded, 40);
	/* A recorded call tells where the counted ones belong. */
	TAKE(B(1, 0x900, 10), B(5, 0x800, 11), E(5, 0x800, 12),
	     E(1, 0x900, 17));
	SET(CALLED(5, 0, 50));
	ck_assert_uint_eq(node_of(0, 5, CCT_UNKNOWN_CALLERS)->unrecorded, 0);
	ck_assert_uint_eq(node_of(0, 5, 1)->unrecorded, 49);
}

/* A plugin is loaded twice, and none of its calls are recorded. */
TEST(exact_calls_without_a_record_are_of_each_load)
{
	struct cct *cct = &g_text->fibers.fiber[0].replay->cct;
	uint64_t calls[3] = { 0 };

	for (int round = 0; round < 2; round++) {
		SET(CALLED(9, 1, 100), CALLED(9, 2, 300));
		calls[1] = calls[2] = 0;
		for (struct cct_function *function = cct->functions; function;
		     function = function->next)
			for (struct cct_node *node = function->nodes; node;
			     node = node->of_function)
				if (function->address == 9)
					calls[function->generation] +=
						node->unrecorded;
		ck_assert_uint_eq(calls[1], 100);
		ck_assert_uint_eq(calls[2], 300);
	}
}

TEST(exact_calls_are_of_all_stacks)
{
	TAKE(B(1, 0x900, 0), rec_flow(FLOW_CONTEXT_MAKE, 0x1000, 0, 2),
	     rec_flow(FLOW_CONTEXT_SAVE, 0x2000, 0x8f0, 3),
	     rec_flow(FLOW_CONTEXT_SWITCH, 0x1000, 0, 4), B(3, 0x400, 5),
	     E(3, 0x400, 6), rec_flow(FLOW_CONTEXT_END, 0x2000, 0, 8),
	     B(3, 0x800, 9), E(3, 0x800, 9), E(1, 0x900, 9));
	SET(CALLED(3, 0, 20));
	ck_assert_uint_eq(node_of(0, 3, 1)->unrecorded, 9);
	ck_assert_uint_eq(node_of(1, 3, 0)->unrecorded, 9);
}

TEST(exact_calls_before_thunks_are_besides)
{
	TAKE(B(2, 0x900, 0), E(2, 0x900, 1), B(2, 0x900, 2), E(2, 0x900, 3));
	ck_assert_int_eq(function_log_connect(g_text->log, 2, false,
					      REPLAY_START_NS + 4),
			 0);
	TAKE(B(2, 0x900, 5), E(2, 0x900, 6));
	SET(CALLED(2, 0, 8));
	ck_assert_uint_eq(node_of(0, 2, 0)->unrecorded, 7);
}

/* The collector lags, so the log is ahead of the records. */
TEST(exact_calls_before_thunks_may_be_read_later)
{
	ck_assert_int_eq(function_log_connect(g_text->log, 2, false,
					      REPLAY_START_NS + 4),
			 0);
	TAKE(B(2, 0x900, 0), E(2, 0x900, 1), B(2, 0x900, 2), E(2, 0x900, 3));
	TAKE(B(2, 0x900, 5), E(2, 0x900, 6));
	SET(CALLED(2, 0, 8));
	ck_assert_uint_eq(node_of(0, 2, 0)->calls, 3);
	ck_assert_uint_eq(node_of(0, 2, 0)->unrecorded, 7);
}

/* From then on the thread only counts, so no record tells the replay. */
TEST(exact_calls_before_thunks_need_no_later_record)
{
	TAKE(B(1, 0x900, 0), B(2, 0x800, 1), E(2, 0x800, 2), B(2, 0x800, 3));
	ck_assert_int_eq(function_log_connect(g_text->log, 2, false,
					      REPLAY_START_NS + 4),
			 0);
	SET(CALLED(2, 0, 8));
	ck_assert_uint_eq(node_of(0, 2, 1)->unrecorded, 8);
	TAKE(E(2, 0x800, 5), E(1, 0x900, 6));
	SET(CALLED(2, 0, 8));
	ck_assert_uint_eq(node_of(0, 2, 1)->unrecorded, 8);
}

TEST(exact_calls_know_late_begins_while_thunks_are_connected)
{
	/* Two late calls come by hooks, as the function goes off while its
	 * sites are rewritten. Then a thunk counts a late call. */
	TAKE(B(2, 0x900, 0), E(2, 0x900, 1));
	ck_assert_int_eq(function_log_connect(g_text->log, 2, false,
					      REPLAY_START_NS + 2),
			 0);
	ck_assert_int_eq(function_log_off(g_text->log, 2, REPLAY_START_NS + 2),
			 0);
	TAKE(B(2, 0x900, 3), E(2, 0x900, 4), B(2, 0x900, 5), E(2, 0x900, 6));
	function_log_on(g_text->log, 2, REPLAY_START_NS + 7);
	TAKE(B(2, 0x900, 8), E(2, 0x900, 9));
	ck_assert_int_eq(function_log_off(g_text->log, 2, REPLAY_START_NS + 10),
			 0);
	TAKE(B(2, 0x900, 11), E(2, 0x900, 12));
	SET(CALLED(2, 0, 8));
	ck_assert_uint_eq(node_of(0, 2, 0)->calls, 2);
	ck_assert_uint_eq(node_of(0, 2, 0)->unrecorded, 9);
}

TEST(exact_calls_know_late_begins_of_a_new_function)
{
	ck_assert_int_eq(function_log_connect(g_text->log, 2, false,
					      REPLAY_START_NS + 2),
			 0);
	ck_assert_int_eq(function_log_off(g_text->log, 2, REPLAY_START_NS + 2),
			 0);
	TAKE(B(2, 0x900, 3), E(2, 0x900, 4));
	SET(CALLED(2, 0, 8));
	ck_assert_uint_eq(node_of(0, 2, CCT_UNKNOWN_CALLERS)->unrecorded, 9);
}

TEST(exact_calls_know_late_begins_at_the_gate)
{
	ck_assert_int_eq(function_log_off(g_text->log, 2, REPLAY_START_NS + 2),
			 0);
	TAKE(B(2, 0x900, 0), E(2, 0x900, 1), B(2, 0x900, 3), E(2, 0x900, 4));
	function_log_on(g_text->log, 2, REPLAY_START_NS + 5);
	ck_assert_int_eq(function_log_off(g_text->log, 2, REPLAY_START_NS + 6),
			 0);
	TAKE(B(2, 0x900, 7), E(2, 0x900, 8));
	SET({ .address = 2, .calls = 8, .apart = true });
	ck_assert_uint_eq(node_of(0, 2, 0)->calls, 1);
	ck_assert_uint_eq(node_of(0, 2, 0)->unrecorded, 10);
}

TEST(exact_calls_that_the_gate_counted_are_besides)
{
	TAKE(B(2, 0x900, 0), E(2, 0x900, 1), B(2, 0x900, 2), E(2, 0x900, 3));
	SET({ .address = 2, .calls = 8, .apart = true });
	ck_assert_uint_eq(node_of(0, 2, 0)->unrecorded, 8);
}

TEST(exact_calls_of_excluded_functions_are_passed_over)
{
	g_text->excluded = 2;
	TAKE(B(2, 0x900, 0), E(2, 0x900, 1));
	SET(CALLED(2, 0, 8));
	ck_assert_uint_eq(node_of(0, 2, 0)->unrecorded, 0);
}

TEST(exact_calls_know_modules_at_one_address)
{
	TAKE(B(2, 0x900, 0), E(2, 0x900, 1));
	g_text->unloaded = (struct address_range){ 2, 3 };
	g_text->unloaded_count = 1;
	TAKE(rec(RECORD_MAP, 3, 0, 2), B(2, 0x900, 3), E(2, 0x900, 4));
	SET(CALLED(2, 2, 30), CALLED(2, 0, 8));
	ck_assert_uint_eq(node_of(0, 2, 0)->unrecorded, 29);
	cct_sum(&g_text->replay.cct);
	for (struct cct_function *function = g_text->replay.cct.functions;
	     function; function = function->next)
		if (function->address == 2 && function->generation == 0)
			ck_assert_uint_eq(function->unrecorded, 7);
}
