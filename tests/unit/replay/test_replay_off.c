/* SPDX-License-Identifier: Apache-2.0
 *
 * test_replay_off - functions that change their states, and functions of entry
 * builds: replay handles missing ends and unexpected records.
 */
#include "collector/replay/function_log.h"
#include "tests/unit/replay_rig.h"

#define OFF(function, ns)                                          \
	ck_assert_int_eq(function_log_off(g_text->log, function,   \
					  REPLAY_START_NS + (ns)), \
			 0)
#define ON(function, ns) \
	function_log_on(g_text->log, function, REPLAY_START_NS + (ns))
#define CONNECT(function, entry)                                            \
	ck_assert_int_eq(function_log_connect(g_text->log, function, entry, \
					      REPLAY_START_NS),             \
			 0)

static void take(const struct record *records, size_t count)
{
	size_t done;

	ck_assert_int_eq(
		fibers_run(&g_text->fibers, records, count, UINT64_MAX, &done),
		0);
	ck_assert_uint_eq(done, count);
	fibers_flush(&g_text->fibers);
}

#define TAKE(...)                              \
	take((struct record[]){ __VA_ARGS__ }, \
	     sizeof((struct record[]){ __VA_ARGS__ }) / sizeof(struct record))

/* --- frames of a function that goes off ---------------------------------- */

FIXTURE(setup, teardown);

TEST(off_frame_is_over_when_its_caller_ends)
{
	g_text->times = true;
	OFF(2, 3);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 4),
			     E(3, 0x700, 5), E(1, 0x900, 6)),
			 "@0(1 @1(2 @4(3 @5) @6off) @6)");
	ck_assert_uint_eq(COUNTS->off_slices, 1);
	ck_assert_uint_eq(COUNTS->repaired_slices, 0);
}

TEST(off_frame_is_over_when_something_begins_beside_it)
{
	OFF(2, 3);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 4),
			     E(3, 0x700, 5), B(4, 0x800, 6), E(4, 0x800, 7),
			     B(5, 0x810, 8), E(5, 0x810, 9), E(1, 0x900, 10)),
			 "(1 (2 (3 ) off) (4 ) (5 ) )");
	ck_assert_uint_eq(COUNTS->off_slices, 1);
}

TEST(off_frames_end_one_after_another)
{
	OFF(2, 3);
	OFF(3, 3);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     B(4, 0x700, 4), E(4, 0x700, 5), B(5, 0x880, 6),
			     E(5, 0x880, 7), E(1, 0x900, 10)),
			 "(1 (2 (3 off) (4 ) off) (5 ) )");
	ck_assert_uint_eq(COUNTS->off_slices, 2);
}

TEST(off_frame_may_have_its_end_all_the_same)
{
	/* The thread was in the hook when the site was written. */
	g_text->times = true;
	OFF(2, 3);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), E(2, 0x800, 4),
			     E(1, 0x900, 6)),
			 "@0(1 @1(2 @4) @6)");
	ck_assert_uint_eq(COUNTS->off_slices, 0);
}

TEST(off_frame_at_the_end_of_the_thread_has_its_mark)
{
	OFF(2, 3);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 4)),
			 "(1 (2 (3 ) off) )");
}

TEST(off_frame_stays_without_end_when_its_function_comes_back)
{
	OFF(2, 3);
	ON(2, 5);
	/* The same frame, so the first call has ended. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(2, 0x800, 6),
			     E(2, 0x800, 7), E(1, 0x900, 8)),
			 "(1 (2 off) (2 ) )");
	ck_assert_uint_eq(COUNTS->off_slices, 1);
	ck_assert_uint_eq(COUNTS->late_begins, 0);
}

TEST(off_frame_calls_its_function_again_when_that_is_back)
{
	OFF(2, 3);
	ON(2, 5);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(2, 0x700, 6),
			     E(2, 0x700, 7), B(3, 0x700, 8), E(3, 0x700, 9),
			     E(1, 0x900, 10)),
			 "(1 (2 (2 ) (3 ) off) )");
}

TEST(off_frames_of_others_keep_their_ends)
{
	/* 3 is deep below a frame that is off and must stay intact. */
	g_text->times = true;
	OFF(2, 2);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 3),
			     B(4, 0x600, 4), E(4, 0x600, 5), E(3, 0x700, 6),
			     B(6, 0x700, 7), E(6, 0x700, 8), E(1, 0x900, 9)),
			 "@0(1 @1(2 @3(3 @4(4 @5) @6) @7(6 @8) @9off) @9)");
}

TEST(off_frames_that_are_withheld_end_too)
{
	/* A filter excludes 2. */
	g_text->excluded = 2;
	OFF(2, 3);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 4),
			     E(3, 0x700, 5), B(4, 0x800, 6), E(4, 0x800, 7),
			     E(1, 0x900, 8)),
			 "(1 (3 ) (4 ) )");
	ck_assert_uint_eq(COUNTS->off_slices, 0);
	ck_assert_uint_eq(COUNTS->filtered_spans, 1);
}

/* --- unexpected records -------------------------------------------------- */

TEST(off_begin_is_late_and_withheld)
{
	OFF(2, 3);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), E(2, 0x800, 2),
			     B(2, 0x800, 3), B(3, 0x700, 4), E(3, 0x700, 5),
			     B(4, 0x800, 6), E(4, 0x800, 7), E(1, 0x900, 10)),
			 "(1 (2 ) (3 ) (4 ) )");
	ck_assert_uint_eq(COUNTS->late_begins, 1);
	ck_assert_uint_eq(COUNTS->spans, 4);
	ck_assert_uint_eq(COUNTS->off_slices, 0);
}

TEST(off_begin_that_is_late_may_have_its_end)
{
	OFF(2, 3);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 4), E(2, 0x800, 5),
			     E(1, 0x900, 10)),
			 "(1 )");
	ck_assert_uint_eq(COUNTS->late_begins, 1);
	ck_assert_uint_eq(COUNTS->off_ends, 0);
	ck_assert_uint_eq(COUNTS->orphan_ends, 0);
}

TEST(off_begins_are_taken_again_when_on)
{
	OFF(2, 3);
	ON(2, 5);
	OFF(2, 7);
	ON(2, 9);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 2), E(2, 0x800, 2),
			     B(2, 0x800, 4), E(2, 0x800, 4), B(2, 0x800, 6),
			     E(2, 0x800, 6), B(2, 0x800, 8), E(2, 0x800, 8),
			     B(2, 0x800, 10), E(2, 0x800, 10), E(1, 0x900, 11)),
			 "(1 (2 ) (2 ) (2 ) )");
	ck_assert_uint_eq(COUNTS->late_begins, 2);
}

TEST(off_end_without_frame_is_counted)
{
	OFF(2, 3);
	CONNECT(3, false);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), E(2, 0x800, 4), E(3, 0x800, 5),
			     E(4, 0x800, 6), E(1, 0x900, 10)),
			 "(1 )");
	ck_assert_uint_eq(COUNTS->off_ends, 2);
	ck_assert_uint_eq(COUNTS->orphan_ends, 1);
}

TEST(off_end_of_a_counted_call_ends_no_outer_one)
{
	/* The inner 1 is only counted, yet its end came. */
	CONNECT(1, false);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), E(1, 0x700, 2),
			     B(3, 0x700, 3), E(3, 0x700, 4), E(2, 0x800, 5),
			     E(1, 0x900, 6)),
			 "(1 (2 (3 ) ) )");
	ck_assert_uint_eq(COUNTS->off_ends, 1);
	ck_assert_uint_eq(COUNTS->orphan_ends, 0);
	ck_assert_uint_eq(COUNTS->repaired_slices, 0);
}

TEST(off_end_of_a_counted_recursion_ends_no_outer_call)
{
	CONNECT(1, false);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), E(1, 0x900, 1), B(1, 0x900, 2),
			     E(1, 0x800, 3), B(3, 0x800, 4), E(3, 0x800, 5),
			     E(1, 0x900, 6)),
			 "(1 ) (1 (3 ) )");
	ck_assert_uint_eq(COUNTS->off_ends, 1);
}

TEST(off_end_that_was_withheld_is_supplied)
{
	/* 2 is counted, and an exception lost its bit. */
	CONNECT(2, false);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), E(1, 0x900, 2),
			     B(1, 0x900, 3), E(1, 0x900, 4)),
			 "(1 (2 ?) ) (1 )");
}

/* --- the log and time ---------------------------------------------------- */

TEST(off_change_may_be_told_between_records)
{
	/* At any time before the first later record. */
	for (int when = 0; when < 3; when++) {
		if (when)
			teardown(), setup();
		if (when == 0)
			OFF(2, 3);
		TAKE(B(1, 0x900, 0), B(2, 0x800, 1));
		if (when == 1)
			OFF(2, 3);
		TAKE(B(3, 0x700, 2));
		if (when == 2)
			OFF(2, 3);
		ck_assert_str_eq(RUN(E(3, 0x700, 4), B(2, 0x800, 5),
				     E(2, 0x800, 6), B(4, 0x800, 7),
				     E(4, 0x800, 8), E(1, 0x900, 9)),
				 "(1 (2 (3 ) off) (4 ) )");
		ck_assert_uint_eq(COUNTS->late_begins, 1);
	}
}

TEST(off_change_told_too_late_keeps_what_is_written)
{
	TAKE(B(1, 0x900, 0), B(2, 0x800, 4), E(2, 0x800, 5), B(2, 0x800, 6));
	OFF(2, 3);
	ck_assert_str_eq(RUN(B(4, 0x800, 7), E(4, 0x800, 8), E(1, 0x900, 9)),
			 "(1 (2 ) (2 off) (4 ) )");
	ck_assert_uint_eq(COUNTS->spans, 4);
	ck_assert_uint_eq(COUNTS->late_begins, 0);
}

TEST(off_changes_that_were_forgotten_are_asked_for)
{
	TAKE(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2), E(3, 0x700, 2));
	OFF(2, 3);
	OFF(3, 3);
	for (uint64_t i = 0; i < 2 * FUNCTION_LOG_CHANGES; i++) {
		OFF(100 + i % 50, 4);
		ON(100 + i % 50, 4);
	}
	ON(3, 5);
	ck_assert_str_eq(RUN(B(3, 0x700, 6), E(3, 0x700, 7), B(2, 0x700, 8),
			     E(2, 0x700, 8), B(4, 0x800, 8), E(4, 0x800, 8),
			     E(1, 0x900, 9)),
			 "(1 (2 (3 ) (3 ) off) (4 ) )");
	ck_assert_uint_eq(COUNTS->late_begins, 1);
}

TEST(off_changes_may_be_forgotten_within_a_run)
{
	const struct record begin = B(3, 0x700, 9);

	OFF(2, 5);
	TAKE(B(1, 0x900, 0), B(2, 0x800, 1));
	for (uint64_t i = 0; i < FUNCTION_LOG_CHANGES; i++) {
		OFF(100 + i % 50, 6);
		ON(100 + i % 50, 6);
	}
	/* The log is not read for more changes. */
	ck_assert_int_eq(replay_take(&g_text->replay, begin.word, begin.clock),
			 0);
	ck_assert_str_eq(RUN(E(3, 0x700, 9), E(1, 0x900, 9)),
			 "(1 (2 (3 ) off) )");
}

TEST(off_is_known_to_a_new_thread)
{
	OFF(2, 0);
	ck_assert_str_eq(RUN(B(1, 0x900, 1), B(2, 0x800, 2), E(2, 0x800, 3),
			     E(1, 0x900, 4)),
			 "(1 )");
	ck_assert_uint_eq(COUNTS->late_begins, 1);
}

TEST(off_is_known_to_a_new_context)
{
	OFF(2, 1);
	ck_assert_str_eq(
		RUN(B(1, 0x900, 0), rec_flow(FLOW_CONTEXT_MAKE, 0x1000, 0, 2),
		    rec_flow(FLOW_CONTEXT_SAVE, 0x2000, 0x8f0, 3),
		    rec_flow(FLOW_CONTEXT_SWITCH, 0x1000, 0, 4), B(3, 0x400, 5),
		    B(2, 0x300, 6), E(3, 0x400, 7),
		    rec_flow(FLOW_CONTEXT_END, 0x2000, 0, 8), E(1, 0x900, 9)),
		"(1 1:(3 1:) )");
	ck_assert_uint_eq(fibers_counts(&g_text->fibers).late_begins, 1);
}

TEST(off_module_unloaded_is_another_function)
{
	OFF(2, 1);
	function_log_unload(g_text->log, 2, 3, REPLAY_START_NS + 3);
	ck_assert_str_eq(RUN(B(1, 0x900, 2), B(2, 0x800, 2), E(2, 0x800, 2),
			     B(2, 0x800, 4), E(2, 0x800, 5), E(2, 0x800, 6),
			     E(1, 0x900, 9)),
			 "(1 (2 ) )");
	ck_assert_uint_eq(COUNTS->late_begins, 1);
	ck_assert_uint_eq(COUNTS->orphan_ends, 1);
}

TEST(off_with_limit_nests)
{
	replay_limit(&g_text->replay, 2);
	OFF(3, 3);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     B(4, 0x700, 4), E(4, 0x700, 5), E(2, 0x800, 6),
			     B(2, 0x800, 7), E(2, 0x800, 8), E(1, 0x900, 9)),
			 "(1 (2 ) (2 ) )");
	ck_assert_uint_eq(COUNTS->spans, 3);
}

TEST(off_in_a_pause_is_a_phantom)
{
	pause_begin(&g_text->pauses, REPLAY_START_NS + 2);
	pause_end(&g_text->pauses, REPLAY_START_NS + 5);
	OFF(2, 4);
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 3), B(3, 0x800, 6),
			     E(3, 0x800, 7), E(1, 0x900, 9)),
			 "(1 *recording paused: 1 spans not recorded (3 ) )");
}

TEST(off_stack_of_linked_context_is_taken_for_empty)
{
	OFF(3, 6);
	ck_assert_str_eq(RUN(B(1, 0x900, 0),
			     rec_flow(FLOW_CONTEXT_MAKE, 0x1000, 0, 2),
			     rec_flow(FLOW_CONTEXT_LINK, 0x2000, 0, 2),
			     rec_flow(FLOW_CONTEXT_SAVE, 0x2000, 0x8f0, 3),
			     rec_flow(FLOW_CONTEXT_SWITCH, 0x1000, 0, 4),
			     B(3, 0x4400, 5), E(1, 0x900, 9)),
			 "(1 1:(3 ) 1:off)");
	ck_assert_uint_eq(fibers_counts(&g_text->fibers).orphan_ends, 0);
}

TEST(calls_before_a_function_was_connected_are_known)
{
	TAKE(B(1, 0x900, 0), B(2, 0x800, 1), E(2, 0x800, 2), B(2, 0x800, 3));
	ck_assert_int_eq(function_log_connect(g_text->log, 2, false,
					      REPLAY_START_NS + 4),
			 0);
	TAKE(E(2, 0x800, 5), B(2, 0x800, 6), E(2, 0x800, 7), E(1, 0x900, 8));
	for (struct cct_function *function = g_text->replay.cct.functions;
	     function; function = function->next)
		ck_assert_uint_eq(function->calls_before,
				  function->address == 2 ? 2 : 0);
}

/* --- entry builds --------------------------------------------------------- */

/* Functions 11 to 19 belong to an entry build. */
static void entry_setup(void)
{
	setup();
	for (uint64_t function = 11; function < 20; function++)
		CONNECT(function, true);
}

FIXTURE(entry_setup, teardown);

TEST(entry_catch_ends_what_lies_deeper)
{
	/* 11 at 0x900 has its body down to 0x880 and calls 12, which calls 13.
	 * 13 throws; the landing pad is in 11. */
	ck_assert_str_eq(RUN(B(11, 0x900, 0), B(12, 0x870, 1), B(13, 0x800, 2),
			     rec_flow(FLOW_CATCH, 0x200, 0x870, 3),
			     B(14, 0x870, 4), E(14, 0x870, 5), E(11, 0x900, 6)),
			 "(11 (12 (13 exception) exception) (14 ) )");
}

TEST(entry_catch_in_the_innermost_function_ends_nothing)
{
	ck_assert_str_eq(RUN(B(11, 0x900, 0), B(12, 0x870, 1),
			     rec_flow(FLOW_CATCH, 0x100, 0x820, 3),
			     E(12, 0x870, 5), E(11, 0x900, 6)),
			 "(11 (12 ) )");
}

TEST(entry_catch_in_a_function_without_span_ends_what_lies_deeper)
{
	/* 11 calls a counted function with its body at 0x840. That calls 12 at
	 * 0x830, which throws. */
	ck_assert_str_eq(RUN(B(11, 0x900, 0), B(12, 0x830, 1),
			     rec_flow(FLOW_CATCH, 0x200, 0x840, 3),
			     B(14, 0x830, 4), E(14, 0x830, 5), E(11, 0x900, 6)),
			 "(11 (12 exception) (14 ) )");
}

TEST(entry_catch_far_up_the_stack_is_told_by_its_bytes)
{
	/* 12 has a frame of 72 KiB, so 13 seems to lie above 12. */
	ck_assert_str_eq(RUN(B(11, 0x8900, 0), B(12, 0x8800, 1),
			     B(13, 0x6800, 2), B(14, 0x6700, 3),
			     rec_flow(FLOW_CATCH, 0x12000, 0x8870, 3),
			     E(11, 0x8900, 6)),
			 "(11 (12 (13 (14 exception) exception) exception) )");
}

TEST(entry_catch_without_distance_is_found_by_containment)
{
	ck_assert_str_eq(RUN(B(11, 0x900, 0), B(12, 0x870, 1), B(13, 0x800, 2),
			     rec_flow(FLOW_CATCH, 0, 0x870, 3),
			     E(11, 0x900, 6)),
			 "(11 (12 (13 exception) exception) )");
}

TEST(entry_copied_jump_buffer_is_found_by_containment)
{
	ck_assert_str_eq(RUN(B(11, 0x900, 0), B(12, 0x870, 1), B(13, 0x800, 2),
			     rec_flow(FLOW_LONGJMP, 0x5000, 0x870, 3),
			     E(11, 0x900, 6)),
			 "(11 (12 (13 ?) ?) )");
}

TEST(entry_longjmp_goes_to_its_point)
{
	ck_assert_str_eq(
		RUN(B(11, 0x900, 0), rec_flow(FLOW_SETJMP, 0x5000, 0x870, 1),
		    B(12, 0x870, 1), B(13, 0x800, 2),
		    rec_flow(FLOW_LONGJMP, 0x5000, 0x870, 3), E(11, 0x900, 6)),
		"(11 (12 (13 longjmp) longjmp) )");
}

TEST(entry_and_calls_frames_mix)
{
	/* 1 and 2 are of a calls build. 2 catches what 12 throws; then 11. */
	ck_assert_str_eq(
		RUN(B(1, 0xa00, 0), B(11, 0x900, 0), B(2, 0x840, 1),
		    B(12, 0x800, 2), rec_flow(FLOW_CATCH, 0x100, 0x840, 3),
		    B(13, 0x800, 4), B(3, 0x7c0, 4),
		    rec_flow(FLOW_CATCH, 0x1f0, 0x870, 5), E(11, 0x900, 6),
		    E(1, 0xa00, 7)),
		"(1 (11 (2 (12 exception) (13 (3 exception) exception) "
		"exception) ) )");
}

TEST(entry_begin_in_the_place_of_a_frame_ends_it)
{
	/* No record shows that 12 and 13 ended; then 11 calls 14. */
	ck_assert_str_eq(RUN(B(11, 0x900, 0), B(12, 0x870, 1), B(13, 0x800, 2),
			     B(14, 0x870, 3), E(14, 0x870, 4), E(11, 0x900, 6)),
			 "(11 (12 (13 ?) ?) (14 ) )");
}

TEST(entry_begin_after_a_large_frame_ends_nothing)
{
	ck_assert_str_eq(RUN(B(11, 0x8900, 0), B(12, 0x8800, 1),
			     B(13, 0xa810, 2), E(13, 0xa810, 3),
			     E(12, 0x8800, 4), E(11, 0x8900, 6)),
			 "(11 (12 (13 ) ) )");
}

TEST(entry_call_at_once_may_have_the_same_hint)
{
	/* `f: call leaf`: the hints are only 8 bytes apart. */
	ck_assert_str_eq(RUN(B(11, 0x900, 0), B(12, 0x870, 1), B(13, 0x870, 2),
			     E(13, 0x870, 3), B(14, 0x870, 4), E(14, 0x870, 5),
			     E(12, 0x870, 6), E(11, 0x900, 7)),
			 "(11 (12 (13 ) (14 ) ) )");
}

TEST(entry_tail_call_begins_where_its_caller_began)
{
	ck_assert_str_eq(RUN(B(11, 0x900, 0), B(12, 0x870, 1), E(12, 0x870, 2),
			     B(13, 0x870, 3), E(13, 0x870, 4), E(11, 0x900, 5)),
			 "(11 (12 ) (13 ) )");
}

TEST(entry_end_with_another_hint_is_of_another_call)
{
	/* 11 calls 12 calls 11, which is only counted. */
	ck_assert_str_eq(RUN(B(11, 0x900, 0), B(12, 0x870, 1), E(11, 0x800, 2),
			     B(13, 0x800, 3), E(13, 0x800, 4), E(12, 0x870, 5),
			     E(11, 0x800, 6), E(11, 0x900, 7)),
			 "(11 (12 (13 ) ) )");
	ck_assert_uint_eq(COUNTS->off_ends, 2);
	ck_assert_uint_eq(COUNTS->orphan_ends, 0);
}

TEST(entry_recursion_ends_by_exact_hint)
{
	/* The innermost end was withheld. */
	ck_assert_str_eq(RUN(B(11, 0x900, 0), B(11, 0x800, 1), B(11, 0x700, 2),
			     E(11, 0x800, 3), E(11, 0x900, 4)),
			 "(11 (11 (11 ?) ) )");
}
