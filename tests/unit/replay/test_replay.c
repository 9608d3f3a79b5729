/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/replay/cct_flat.h"
#include "tests/random.h"
#include "tests/unit/replay_rig.h"

FIXTURE(setup, teardown);

TEST(replay_nested_calls_are_nested)
{
	g_text->times = true;
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 5), E(2, 0x800, 7),
			     B(3, 0x800, 7), E(3, 0x800, 8), E(1, 0x900, 9)),
			 "@0(1 @5(2 @7) @7(3 @8) @9)");
	ck_assert_uint_eq(COUNTS->spans, 3);
	ck_assert_uint_eq(COUNTS->repaired_slices, 0);
}

/* The copy renumbers the nodes. */
TEST(replay_whose_tree_is_copied_counts_each_call_once_in_the_index)
{
	const struct record records[] = { B(1, 0x900, 0), B(2, 0x800, 5),
					  E(2, 0x800, 7) };
	struct cct_flat flat;
	size_t taken;

	ck_assert_int_eq(
		fibers_run(&g_text->fibers, records, 3, UINT64_MAX, &taken), 0);
	ck_assert_int_eq(cct_flat_copy(&g_text->replay, 8, &flat), 0);
	cct_flat_release(&flat);
	/* index_check.h has checked its sums against the slices. */
	ck_assert_str_eq(RUN(B(2, 0x800, 8), E(2, 0x800, 9), E(1, 0x900, 10)),
			 "(1 (2 ) (2 ) )");
#ifndef REPLAY_TEXT_COMPACT
	ck_assert_uint_eq(g_text->track[0].index->chunks, 1);
#endif
}

TEST(replay_clock_steps_back_is_clamped)
{
	g_text->times = true;
	ck_assert_str_eq(RUN(B(1, 0x900, 50), B(2, 0x800, 20), E(2, 0x800, 60),
			     E(1, 0x900, 10)),
			 "@50(1 @50(2 @60) @60)");
}

TEST(replay_end_missing_is_supplied_by_outer_end)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     E(1, 0x900, 3)),
			 "(1 (2 (3 ?) ?) )");
	ck_assert_uint_eq(COUNTS->repaired_slices, 2);
	ck_assert_uint_eq(COUNTS->spans, 3);
}

TEST(replay_end_without_begin_is_withheld)
{
	ck_assert_str_eq(RUN(E(7, 0x800, 0), B(1, 0x900, 0), E(2, 0x800, 1),
			     E(1, 0x900, 3)),
			 "(1 )");
	ck_assert_uint_eq(COUNTS->orphan_ends, 2);
}

TEST(replay_longjmp_to_caller_ends_what_it_left)
{
	/* 1 calls 2 calls 3, which jumps back into 1, which calls 2 again. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     B(2, 0x800, 3), E(2, 0x800, 4), E(1, 0x900, 5)),
			 "(1 (2 (3 ?) ?) (2 ) )");
}

TEST(replay_begin_less_deep_without_match_repairs_nothing)
{
	/* A frame above 32 KiB, or another stack, looks less deep. */
	ck_assert_str_eq(RUN(B(1, 0x1000, 0), B(2, 0xf000, 1), B(3, 0x2000, 2),
			     E(3, 0x2000, 3), E(2, 0xf000, 4), E(1, 0x1000, 5)),
			 "(1 (2 (3 ) ) )");
	ck_assert_uint_eq(COUNTS->repaired_slices, 0);
}

TEST(replay_longjmp_in_recursion_ends_by_exact_hint)
{
	/* 1(a) calls 1(b) calls 1(c), which jumps back to a. A first call of
	 * each function has shown exact hints. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(1, 0x800, 1), B(1, 0x700, 2),
			     E(1, 0x900, 3), B(2, 0x900, 4), E(2, 0x900, 5)),
			 "(1 (1 (1 ?) ?) ) (2 )");
	ck_assert_uint_eq(COUNTS->repaired_slices, 2);
}

TEST(replay_tail_called_exit_hook_ends_its_own_call)
{
	/* Each end has the hint of its caller's begin. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(1, 0x800, 1), B(1, 0x700, 2),
			     E(1, 0x800, 3), E(1, 0x900, 4), E(1, 0xa00, 5)),
			 "(1 (1 (1 ) ) )");
	ck_assert_uint_eq(COUNTS->repaired_slices, 0);
	ck_assert_uint_eq(COUNTS->orphan_ends, 0);
}

TEST(replay_tail_called_exit_hook_below_inlined_calls_ends_its_own_call)
{
	/* 2 is inlined into 1 and calls 1 again, like leveldb's iterators, so
	 * its end has the hint of both. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x900, 1), B(1, 0x800, 2),
			     E(1, 0x900, 3), B(3, 0x900, 4), E(3, 0x900, 5),
			     E(2, 0x900, 6), E(1, 0xa00, 7)),
			 "(1 (2 (1 ) (3 ) ) )");
	ck_assert_uint_eq(COUNTS->repaired_slices, 0);
	ck_assert_uint_eq(COUNTS->orphan_ends, 0);
}

TEST(replay_inherited_end_is_no_orphan)
{
	replay_inherit(&g_text->replay);
	ck_assert_str_eq(RUN(E(7, 0x800, 0), B(1, 0x900, 1), E(2, 0x800, 2),
			     E(1, 0x900, 3), E(8, 0xa00, 4)),
			 "(1 )");
	ck_assert_uint_eq(COUNTS->orphan_ends, 1);
}

TEST(replay_inlined_function_is_nested)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x900, 1), B(1, 0x900, 2),
			     E(1, 0x900, 3), E(2, 0x900, 4), E(1, 0x900, 5)),
			 "(1 (2 (1 ) ) )");
}

TEST(replay_limit_cuts_what_lies_deeper)
{
	replay_limit(&g_text->replay, 2);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x800, 2),
			     B(4, 0x700, 3), E(4, 0x700, 4), E(3, 0x800, 5),
			     B(2, 0x700, 6), E(2, 0x700, 7), E(2, 0x800, 8),
			     B(5, 0x800, 9), E(5, 0x800, 10), E(1, 0x900, 11)),
			 "(1 (2 ) (5 ) )");
	ck_assert_uint_eq(COUNTS->spans, 3);
	ck_assert_uint_eq(COUNTS->orphan_ends, 0);
	ck_assert_uint_eq(COUNTS->repaired_slices, 0);
}

TEST(replay_limit_nests_what_it_cuts)
{
	/* 3 is too deep; it and 2 lack ends until 1 ends. The cut calls are not
	 * counted as repaired. */
	replay_limit(&g_text->replay, 2);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     B(3, 0x600, 3), B(2, 0x800, 4), B(3, 0x700, 5),
			     E(1, 0x900, 6), B(4, 0x900, 7), E(4, 0x900, 8)),
			 "(1 (2 ?) (2 ?) ) (4 )");
	ck_assert_uint_eq(COUNTS->spans, 4);
	ck_assert_uint_eq(COUNTS->repaired_slices, 2);
}

TEST(replay_limit_counts_no_excluded_function)
{
	g_text->excluded = 2;
	replay_limit(&g_text->replay, 2);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     B(4, 0x600, 3), E(4, 0x600, 4), E(3, 0x700, 5),
			     E(2, 0x800, 6), B(5, 0x800, 7), B(6, 0x700, 8),
			     E(6, 0x700, 9), E(5, 0x800, 10), E(1, 0x900, 11)),
			 "(1 (3 ) (5 ) )");
	ck_assert_uint_eq(COUNTS->spans, 3);
}

TEST(replay_longjmp_out_of_many_frames_is_repaired)
{
	/* 2 recurses 300 deep, then jumps back into 1, repeatedly. */
	static struct record records[1 + 50 * 301 + 1];
	size_t count = 0;

	records[count++] = B(1, 0x8010, 0);
	for (int round = 0; round < 50; round++) {
		for (unsigned int i = 0; i < 300; i++)
			records[count++] = B(2, 0x8000 - 0x10 * i, round);
		records[count++] = B(3, 0x8000 - 0x10 * 300, round);
	}
	records[count++] = E(1, 0x8010, 50);
	replay_text_of(g_text, records, count);
	ck_assert_uint_eq(g_text->open_most, 302);
	ck_assert_uint_eq(g_text->open, 0);
	ck_assert_uint_eq(COUNTS->spans, count - 1);
}

TEST(replay_same_frame_without_end_stays_bounded)
{
	static struct record records[10000];

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		records[i] = B(1, 0x900, i);
	replay_text_of(g_text, records, ARRAY_SIZE(records));
	ck_assert_uint_lt(g_text->open_most, 70);
	ck_assert_uint_eq(g_text->open, 0);
	ck_assert_uint_eq(COUNTS->spans, ARRAY_SIZE(records));
}

TEST(replay_phantom_withholds_its_end)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), rec(RECORD_PHANTOM, 2, 0x800, 1),
			     rec(RECORD_LOSS, 5, 0, 0), B(3, 0x700, 2),
			     E(3, 0x700, 3), E(2, 0x800, 4), E(1, 0x900, 5)),
			 "(1 *5 spans lost (3 ) )");
	ck_assert_uint_eq(COUNTS->spans, 2);
	ck_assert_uint_eq(COUNTS->lost_spans, 5);
	ck_assert_uint_eq(COUNTS->orphan_ends, 0);
}

TEST(replay_trunc_ends_the_innermost)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     rec(RECORD_TRUNC, 2, 0, 3), E(1, 0x900, 4)),
			 "(1 (2 (3 ) ) )");
	ck_assert_uint_eq(COUNTS->truncated_ends, 2);
}

TEST(replay_trunc_of_more_than_open_ends_all)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0),
			     rec(RECORD_TRUNC, RECORD_PAYLOAD_MAX, 0, 3)),
			 "(1 )");
}

TEST(replay_wait_is_a_slice)
{
	g_text->times = true;
	ck_assert_str_eq(RUN(B(1, 0x900, 0), rec(RECORD_WAIT, 30, 0, 10),
			     E(1, 0x900, 50)),
			 "@0(1 @10<perfrec: waiting for collector @40) "
			 "@50waited=30)");
	ck_assert_uint_eq(COUNTS->waits, 1);
	ck_assert_uint_eq(COUNTS->wait_ns, 30);
}

TEST(replay_wait_is_told_at_the_ends_of_the_calls_around_it)
{
	/* Call 3 had ended and call 4 started later, so neither waited. Call 2
	 * did, although a jump left it. */
	g_text->times = true;
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     E(3, 0x700, 3), rec(RECORD_WAIT, 30, 0, 10),
			     rec(RECORD_WAIT, 5, 0, 42), B(4, 0x700, 50),
			     E(4, 0x700, 51), E(1, 0x900, 60), B(5, 0x900, 61),
			     E(5, 0x900, 62)),
			 "@0(1 @1(2 @2(3 @3) @10<perfrec: waiting for "
			 "collector @40) @42<perfrec: waiting for collector "
			 "@47) @50(4 @51) @60waited=35?) @60waited=35) @61(5 "
			 "@62)");
}

static uint64_t g_slow_ns[2];

static uint64_t tell_all(void *context, uint64_t function)
{
	(void)context;
	return function == 1 ? 25 : 20;
}

static void take_slow(void *context, const struct cct_node *node,
		      uint64_t begin_ns, uint64_t end_ns, uint64_t took_ns,
		      uint8_t held)
{
	(void)context;
	(void)held;
	ck_assert_uint_gt(end_ns - begin_ns, took_ns);
	ck_assert_uint_eq(node->address, 2);
	g_slow_ns[0]++;
	g_slow_ns[1] = took_ns;
}

static size_t unload_none(void *context, uint32_t after, uint32_t until,
			  struct address_range *ranges, size_t most)
{
	(void)context, (void)after, (void)until, (void)ranges, (void)most;
	return 0;
}

TEST(replay_wait_is_no_time_of_the_calls_around_it)
{
	struct replay *replay = &g_text->replay;
	struct cct_function *function;

	ck_assert_int_eq(histograms_new(unload_none, NULL, &g_text->budget,
					&replay->histograms),
			 0);
	replay->sink.slow_ns = tell_all;
	replay->sink.slow = take_slow;
	(void)RUN(B(1, 0x900, 0), B(2, 0x800, 2), rec(RECORD_WAIT, 30, 0, 10),
		  B(3, 0x700, 40), E(3, 0x700, 42), E(2, 0x800, 52),
		  E(1, 0x900, 54));
	function = cct_find_function(replay_tree(replay), 1);
	ck_assert_uint_eq(function->histogram->max, 24);
	function = cct_find_function(replay_tree(replay), 2);
	ck_assert_uint_eq(function->histogram->max, 20);
	function = cct_find_function(replay_tree(replay), 3);
	ck_assert_uint_eq(function->histogram->max, 2);
	ck_assert_uint_eq(g_slow_ns[0], 1);
	ck_assert_uint_eq(g_slow_ns[1], 20);
	histograms_free(&replay->histograms);
}

TEST(replay_deep_recursion_is_folded_and_counted)
{
	static struct record records[4000];
	const size_t depth = ARRAY_SIZE(records) / 2;

	for (size_t i = 0; i < depth; i++) {
		records[i] = B(1, 0x10000 - 16 * i, i);
		records[2 * depth - 1 - i] = E(1, 0x10000 - 16 * i, depth);
	}
	replay_text_of(g_text, records, ARRAY_SIZE(records));
	ck_assert_uint_eq(g_text->open_most, REPLAY_SLICES_MAX);
	ck_assert_uint_eq(g_text->open, 0);
	ck_assert_uint_eq(COUNTS->spans, depth);
	ck_assert_uint_eq(COUNTS->folded_spans, depth - REPLAY_SLICES_MAX);
	ck_assert_uint_eq(COUNTS->repaired_slices, 0);
}

TEST(replay_excluded_function_is_withheld_its_callees_are_not)
{
	g_text->excluded = 2;
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     E(3, 0x700, 3), E(2, 0x800, 4), B(2, 0x800, 5),
			     E(2, 0x800, 6), E(1, 0x900, 7)),
			 "(1 (3 ) )");
	ck_assert_uint_eq(COUNTS->spans, 2);
	ck_assert_uint_eq(COUNTS->filtered_spans, 2);
}

TEST(replay_unknown_kind_is_broken)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), rec(RECORD_VOID, 1, 0, 1)),
			 "broken");
	ck_assert_str_eq(RUN(rec(15, 1, 0, 1)), "broken");
}

TEST(replay_many_functions_get_their_names)
{
	static struct record records[2 * 3 * TRACE_BLOCK_NAMES];

	for (size_t i = 0; i < ARRAY_SIZE(records); i += 2) {
		records[i] = B(i + 1, 0x900, i);
		records[i + 1] = E(i + 1, 0x900, i);
	}
	replay_text_of(g_text, records, ARRAY_SIZE(records));
	for (size_t i = 0; i < ARRAY_SIZE(records); i += 2)
		ck_assert_uint_eq(g_text->name[i / 2 + 1], i + 1);
}

TEST(replay_clocks_of_the_future_are_now)
{
	struct record records[] = { B(1, 0x900, 5),
				    E(1, 0x900, UINT64_MAX / 2) };

	g_text->times = true;
	ck_assert_int_eq(fibers_run(&g_text->fibers, records, 2,
				    REPLAY_START_NS + 77, &(size_t){ 0 }),
			 0);
	fibers_flush(&g_text->fibers);
	ck_assert_str_eq(g_text->text, "@5(1 @77)");
}

/* --- pauses -------------------------------------------------------------- */

static void pause(uint64_t from_ns, uint64_t to_ns)
{
	pause_begin(&g_text->pauses, REPLAY_START_NS + from_ns);
	if (to_ns)
		pause_end(&g_text->pauses, REPLAY_START_NS + to_ns);
}

TEST(replay_paused_begins_are_withheld_and_counted)
{
	g_text->times = true;
	pause(10, 20);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 9), E(2, 0x800, 9),
			     B(2, 0x800, 10), B(3, 0x700, 15), E(3, 0x700, 16),
			     E(2, 0x800, 19), B(2, 0x800, 20), E(2, 0x800, 21),
			     E(1, 0x900, 22)),
			 "@0(1 @9(2 @9) @20*recording paused: 2 spans not "
			 "recorded @20(2 @21) @22)");
	ck_assert_uint_eq(COUNTS->paused_spans, 2);
	ck_assert_uint_eq(COUNTS->spans, 3);
	ck_assert_uint_eq(COUNTS->orphan_ends, 0);
}

TEST(replay_end_in_a_pause_ends_what_began_before)
{
	g_text->times = true;
	pause(10, 20);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 5), E(2, 0x800, 12),
			     E(1, 0x900, 14), B(3, 0x900, 30), E(3, 0x900, 31)),
			 "@0(1 @5(2 @12) @14) @30(3 @31)");
	ck_assert_uint_eq(COUNTS->paused_spans, 0);
}

TEST(replay_span_begun_in_a_pause_is_withheld_to_its_end)
{
	pause(10, 20);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 15), B(3, 0x700, 25),
			     E(3, 0x700, 26), E(2, 0x800, 27), E(1, 0x900, 28)),
			 "(1 *recording paused: 1 spans not recorded (3 ) )");
	ck_assert_uint_eq(COUNTS->orphan_ends, 0);
}

TEST(replay_pause_that_lasts_is_told_at_the_end)
{
	pause(10, 0);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 15), E(2, 0x800, 16),
			     B(2, 0x800, 17), E(2, 0x800, 18)),
			 "(1 *recording paused: 2 spans not recorded )");
}

TEST(replay_pause_begun_between_visits_is_seen)
{
	const struct record first[] = { B(1, 0x900, 0) },
			    second[] = { B(2, 0x800, 15), E(2, 0x800, 16),
					 E(1, 0x900, 30) };

	ck_assert_int_eq(fibers_run(&g_text->fibers, first, 1, UINT64_MAX,
				    &(size_t){ 0 }),
			 0);
	pause(10, 20);
	ck_assert_str_eq(replay_text_of(g_text, second, 3),
			 "(1 *recording paused: 1 spans not recorded )");
}

TEST(replay_pauses_cut_ticks_at_their_ns)
{
	/* A tick is a third of a ns. */
	struct clock_sync *sync;
	struct replay_sink sink = g_text->replay.sink;
	uint64_t tick;
	struct record records[600];
	size_t taken;

	ck_assert_int_eq(clock_sync_new(&sync), 0);
	tick = clock_ticks() + 1000000000000ULL;
	clock_sync_append(sync, tick, REPLAY_START_NS + (1ULL << 60));
	clock_sync_append(sync, tick + 3000,
			  REPLAY_START_NS + (1ULL << 60) + 1000);
	pause((1ULL << 60) + 33, (1ULL << 60) + 77);
	replay_release(&g_text->replay);
	ck_assert_int_eq(replay_init(&g_text->replay, &sink, REPLAY_SEQUENCE,
				     REPLAY_START_NS, sync, &g_text->pauses,
				     &g_text->budget),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		records[i] = (struct record){ record_word(i % 2 ? RECORD_END
								: RECORD_BEGIN,
							  1, 0x900),
					      tick + i };
	ck_assert_int_eq(replay_run(&g_text->replay, records,
				    ARRAY_SIZE(records), 0, &taken),
			 0);
	replay_flush(&g_text->replay);
	/* Even ticks from 33 ns to below 77 ns. */
	taken = 0;
	for (size_t i = 0; i < ARRAY_SIZE(records); i += 2)
		taken += i / 3 >= 33 && i / 3 < 77;
	ck_assert_uint_eq(COUNTS->paused_spans, taken);
	clock_sync_free(&sync);
}

TEST(replay_paused_record_tells_what_the_program_left_out)
{
	pause(10, 20);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 11), E(2, 0x800, 12),
			     rec(RECORD_PAUSED, 40, 0, 13), B(3, 0x800, 21),
			     E(3, 0x800, 22), rec(RECORD_PAUSED, 7, 0, 23),
			     E(1, 0x900, 30)),
			 "(1 *recording paused: 41 spans not recorded (3 ) "
			 "*recording paused: 7 spans not recorded )");
	ck_assert_uint_eq(COUNTS->paused_spans, 48);
	ck_assert_uint_eq(COUNTS->paused_told, 47);
}

/* --- bounds -------------------------------------------------------------- */

TEST(replay_recursion_of_100000_is_whole)
{
	enum { DEPTH = 100000 };
	struct record *records = calloc(2 * DEPTH, sizeof(*records));
	const struct cct_function *f;

	for (size_t i = 0; i < DEPTH; i++) {
		records[i] = B(1 + i % 2, 0x8000 - 48 * i, i);
		records[2 * DEPTH - 1 - i] =
			E(1 + i % 2, 0x8000 - 48 * i, 2 * DEPTH - 1 - i);
	}
	replay_text_of(g_text, records, 2 * DEPTH);
	free(records);
	ck_assert_uint_eq(g_text->open_most, REPLAY_SLICES_MAX);
	ck_assert_uint_eq(g_text->open, 0);
	ck_assert_uint_eq(COUNTS->folded_spans, DEPTH - REPLAY_SLICES_MAX);
	ck_assert_uint_eq(COUNTS->repaired_slices, 0);
	cct_sum(&g_text->replay.cct);
	f = g_text->replay.cct.functions;
	ck_assert_uint_eq(f->calls, DEPTH / 2);
	ck_assert_uint_eq(f->next->calls, DEPTH / 2);
	ck_assert_uint_eq(f->next->total_ns, 2 * DEPTH - 1);
	ck_assert_uint_eq(f->self_ns + f->next->self_ns, 2 * DEPTH - 1);
}

TEST(replay_thread_that_ends_100000_deep_is_whole)
{
	enum { DEPTH = 100000 };
	struct record *records = calloc(DEPTH, sizeof(*records));

	for (size_t i = 0; i < DEPTH; i++)
		records[i] = B(1, 0x8000 - 48 * i, i);
	replay_text_of(g_text, records, DEPTH);
	free(records);
	ck_assert_uint_eq(g_text->open, 0);
	cct_sum(&g_text->replay.cct);
	ck_assert_uint_eq(g_text->replay.cct.functions->calls, DEPTH);
	ck_assert_uint_eq(g_text->replay.cct.functions->total_ns, DEPTH - 1);
}

TEST(replay_memory_stays_within_the_budget, SLOW)
{
	static struct record records[1 << 16];
	uint64_t address = 1;

	for (int round = 0; round < 100; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(records); i++, address++)
			records[i] =
				B(address & RECORD_PAYLOAD_MAX,
				  0x10000 - 16 * (address & 0xfff), address);
		ck_assert_int_eq(fibers_run(&g_text->fibers, records,
					    ARRAY_SIZE(records), UINT64_MAX,
					    &(size_t){ 0 }),
				 0);
	}
	ck_assert_uint_le(g_text->budget.left, 64 << 20);
	replay_finish(&g_text->replay, 0);
	replay_flush(&g_text->replay);
	cct_sum(&g_text->replay.cct);
	address = 0;
	for (struct cct_function *f = g_text->replay.cct.functions; f;
	     f = f->next)
		address += f->calls;
	ck_assert_uint_eq(address, 100 * ARRAY_SIZE(records));
	ck_assert_uint_eq(COUNTS->spans, 100 * ARRAY_SIZE(records));
}

/* Calls about @step_ns apart. Returns the time of the last. */
static uint64_t run_stretch(uint64_t *random, uint64_t ns, uint64_t step_ns,
			    size_t spans)
{
	static struct record records[1 << 16];
	static uint32_t depth;
	size_t count = 0;

	for (size_t i = 0; i < 2 * spans; i++) {
		uint64_t any = next_random(random);
		bool deeper = depth < 2 || (depth < 40 && any & 1);

		ns += any % 3 ? any % step_ns : 0;
		depth -= !deeper;
		records[count++] = rec(deeper ? RECORD_BEGIN : RECORD_END,
				       1 + depth, 0x8000 - 48 * depth, ns);
		depth += deeper;
		if (any % 30000 == 1)
			records[count++] = rec(RECORD_LOSS, any % 77, 0, ns);
		if (any % 30000 == 2)
			records[count++] = rec(RECORD_WAIT, any % 5, 0, ns);
		if (count + 3 < ARRAY_SIZE(records) && i + 1 < 2 * spans)
			continue;
		ck_assert_int_eq(fibers_run(&g_text->fibers, records, count,
					    UINT64_MAX, &(size_t){ 0 }),
				 0);
		count = 0;
	}
	return ns;
}

/* index_check.h compares all cells with the slices. */
TEST(replay_levels_of_detail_have_the_longest_of_all_rates, SLOW)
{
	enum { SPANS = 1 << 18 };
	uint64_t random = 7, ns;

	ns = run_stretch(&random, 0, 50, SPANS);
	ns = run_stretch(&random, ns, 5000000, SPANS / 8);
	/* Durations exceed 32 bits. */
	ns = run_stretch(&random, ns, 3000000000, 1000);
	run_stretch(&random, ns, 500, SPANS);
	replay_finish(&g_text->replay, 0);
	replay_flush(&g_text->replay);
#ifndef REPLAY_TEXT_COMPACT
	ck_assert_uint_eq(g_text->track[0].index->covered[0],
			  g_text->track[0].index->chunk);
	/* At least 8 blocks of level 0, and one block with all spans. */
	ck_assert_uint_ge(g_text->track[0].index->covered[1], 8);
	ck_assert_uint_eq(MAX(g_text->track[0].index->covered[2],
			      g_text->track[0].index->covered[3]),
			  g_text->track[0].index->chunk);
#endif
}
