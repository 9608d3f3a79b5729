/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/unit/replay_rig.h"

/* Addresses of a jmp_buf, its copy, and contexts. */
#define BUF 0x10010
#define COPY 0x10020
#define MAIN 0x20000
#define CO 0x20008
#define CO2 0x20010

#define SETJMP(at, sp, ns) rec_flow(FLOW_SETJMP, at, sp, ns)
#define LONGJMP(at, sp, ns) rec_flow(FLOW_LONGJMP, at, sp, ns)
#define CATCH(sp, ns) rec_flow(FLOW_CATCH, 0, sp, ns)
#define LAND(bytes, sp, ns) rec_flow(FLOW_CATCH, bytes, sp, ns)
#define LEFT(ns) rec_flow(FLOW_THREAD_LEFT, 0, 0, ns)
#define MAKE(at, ns) rec_flow(FLOW_CONTEXT_MAKE, at, 0, ns)
#define LINK(at, ns) rec_flow(FLOW_CONTEXT_LINK, at, 0, ns)
#define OVER(link, ns) rec_flow(FLOW_CONTEXT_END, link, 0, ns)
#define SAVE(at, sp, ns) rec_flow(FLOW_CONTEXT_SAVE, at, sp, ns)
#define SWITCH(at, ns) rec_flow(FLOW_CONTEXT_SWITCH, at, 0, ns)
/* Records of swapcontext() and makecontext(). TOLD makes a context whose end is
 * recorded; for CONTEXT, replay must guess the end. */
#define SWAP(from, sp, to, ns) SAVE(from, sp, ns), SWITCH(to, ns)
#define TOLD(at, ns) SAVE(at, 0x900, ns), MAKE(at, ns)
#define CONTEXT(at, link, ns) SAVE(at, 0x900, ns), MAKE(at, ns), LINK(link, ns)

#define UNKNOWN                                                              \
	"*perfrec: a context of unknown origin: spans may be missing their " \
	"begins or ends"

static uint64_t repaired(void)
{
	return fibers_counts(&g_text->fibers).repaired_slices;
}

static uint64_t spans(void)
{
	return fibers_counts(&g_text->fibers).spans;
}

/* --- longjmp ------------------------------------------------------------- */

FIXTURE(setup, teardown);

TEST(fibers_longjmp_ends_all_above_its_frame_at_once)
{
	g_text->times = true;
	ck_assert_str_eq(RUN(B(1, 0x900, 0), SETJMP(BUF, 0x900, 1),
			     B(2, 0x800, 2), B(3, 0x700, 3),
			     LONGJMP(BUF, 0x900, 4), B(4, 0x100, 6),
			     E(4, 0x100, 7), E(1, 0x900, 9)),
			 "@0(1 @2(2 @3(3 @4longjmp) @4longjmp) @6(4 @7) @9)");
	ck_assert_uint_eq(repaired(), 2);
	ck_assert_uint_eq(spans(), 4);
}

TEST(fibers_longjmp_in_recursion_finds_its_frame)
{
	/* Frames of exactly 64 KiB: all calls have the same hint. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(1, 0x900, 1),
			     SETJMP(BUF, 0x900, 2), B(1, 0x900, 3),
			     B(1, 0x900, 4), LONGJMP(BUF, 0x900, 5),
			     E(1, 0x900, 6), E(1, 0x900, 7)),
			 "(1 (1 (1 (1 longjmp) longjmp) ) )");
}

TEST(fibers_longjmp_to_a_frame_with_alloca_is_exact)
{
	/* setjmp() runs at another stack pointer than the hooks. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), SETJMP(BUF, 0x500, 1),
			     B(2, 0x400, 2), LONGJMP(BUF, 0x500, 3),
			     B(2, 0x400, 4), E(2, 0x400, 5), E(1, 0x900, 6)),
			 "(1 (2 longjmp) (2 ) )");
}

TEST(fibers_longjmp_to_a_function_without_hooks_ends_its_callees)
{
	/* main() has no hooks. */
	ck_assert_str_eq(RUN(SETJMP(BUF, 0x900, 0), B(1, 0x800, 1),
			     B(2, 0x700, 2), LONGJMP(BUF, 0x900, 3),
			     B(3, 0x800, 4), E(3, 0x800, 5)),
			 "(1 (2 longjmp) longjmp) (3 )");
}

TEST(fibers_longjmp_in_a_loop_uses_the_last_setjmp)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), SETJMP(BUF, 0x900, 1),
			     B(2, 0x800, 2), SETJMP(BUF, 0x800, 3),
			     B(3, 0x700, 4), LONGJMP(BUF, 0x800, 5),
			     B(3, 0x700, 6), LONGJMP(BUF, 0x800, 7),
			     E(2, 0x800, 8), E(1, 0x900, 9)),
			 "(1 (2 (3 longjmp) (3 longjmp) ) )");
}

TEST(fibers_longjmp_out_of_a_handler_on_another_stack)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), SETJMP(BUF, 0x900, 1),
			     B(2, 0x800, 2), B(9, 0xf000, 3),
			     LONGJMP(BUF, 0x900, 4), E(1, 0x900, 5)),
			 "(1 (2 (9 longjmp) longjmp) )");
}

TEST(fibers_longjmp_by_a_copied_buffer_guesses_by_stack_pointer)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), SETJMP(BUF, 0x900, 1),
			     B(2, 0x800, 2), B(3, 0x700, 3),
			     LONGJMP(COPY, 0x900, 4), B(4, 0x100, 5),
			     E(4, 0x100, 6), E(1, 0x900, 7)),
			 "(1 (2 (3 ?) ?) (4 ) )");
}

TEST(fibers_longjmp_to_nowhere_known_ends_nothing)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1),
			     LONGJMP(COPY, 0x850, 2), E(2, 0x800, 3),
			     E(1, 0x900, 4)),
			 "(1 (2 ) )");
	ck_assert_uint_eq(repaired(), 0);
}

TEST(fibers_longjmp_to_a_frame_that_has_returned_is_stale)
{
	/* Another call of the same depth and hint. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1),
			     SETJMP(BUF, 0x800, 2), E(2, 0x800, 3),
			     B(2, 0x800, 4), B(3, 0x700, 5),
			     LONGJMP(BUF, 0x740, 6), E(3, 0x700, 7),
			     E(2, 0x800, 8), E(1, 0x900, 9)),
			 "(1 (2 ) (2 (3 ) ) )");
}

TEST(fibers_longjmp_to_an_excluded_frame_that_has_returned_is_stale)
{
	g_text->excluded = 2;
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1),
			     SETJMP(BUF, 0x800, 2), E(2, 0x800, 3),
			     B(2, 0x800, 4), B(3, 0x700, 5),
			     LONGJMP(BUF, 0x740, 6), E(3, 0x700, 7),
			     E(2, 0x800, 8), E(1, 0x900, 9)),
			 "(1 (3 ) )");
}

TEST(fibers_longjmp_over_dropped_frames_takes_them_along)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), SETJMP(BUF, 0x900, 1),
			     rec(RECORD_PHANTOM, 2, 0x800, 2),
			     rec(RECORD_LOSS, 1, 0, 2), B(3, 0x700, 3),
			     LONGJMP(BUF, 0x900, 4), E(2, 0x800, 5),
			     E(1, 0x900, 6)),
			 "(1 *1 spans lost (3 longjmp) )");
	ck_assert_uint_eq(fibers_counts(&g_text->fibers).orphan_ends, 1);
}

TEST(fibers_longjmp_to_an_excluded_function_ends_its_callees)
{
	g_text->excluded = 2;
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1),
			     SETJMP(BUF, 0x800, 2), B(3, 0x700, 3),
			     LONGJMP(BUF, 0x800, 4), B(4, 0x700, 5),
			     E(4, 0x700, 6), E(2, 0x800, 7), E(1, 0x900, 8)),
			 "(1 (3 longjmp) (4 ) )");
	ck_assert_uint_eq(fibers_counts(&g_text->fibers).orphan_ends, 0);
}

TEST(fibers_longjmp_from_100000_deep_is_exact)
{
	enum { DEPTH = 100000 };
	struct record *records = calloc(DEPTH + 5, sizeof(*records));
	size_t n = 0;

	records[n++] = B(1, 0x9000, 0);
	records[n++] = SETJMP(BUF, 0x9000, 1);
	for (size_t i = 0; i < DEPTH; i++)
		records[n++] = B(2, 0x8000 - 48 * i, 2 + i);
	records[n++] = LONGJMP(BUF, 0x9000, DEPTH + 2);
	records[n++] = B(3, 0x8000, DEPTH + 3);
	records[n++] = E(1, 0x9000, DEPTH + 4);
	replay_text_of(g_text, records, n);
	free(records);
	ck_assert_uint_eq(repaired(), DEPTH + 1);
	ck_assert_uint_eq(g_text->open, 0);
	ck_assert_ptr_nonnull(strstr(g_text->text, "longjmp) (3 ?) )"));
}

TEST(fibers_longjmp_among_frames_too_deep_to_keep)
{
	enum { DEPTH = 1200000, BACK = 1100000 };
	struct record *records = calloc(DEPTH + 2, sizeof(*records));
	size_t n = 0;

	for (size_t i = 0; i < DEPTH; i++) {
		if (i == BACK)
			records[n++] = SETJMP(BUF, 0x8000, i);
		records[n++] = B(1, 0x8000 - 48 * i, i);
	}
	records[n++] = LONGJMP(BUF, 0x8000, DEPTH);
	g_text->budget.left = 1ULL << 30;
	ck_assert_int_eq(fibers_run(&g_text->fibers, records, n, UINT64_MAX,
				    &(size_t){ 0 }),
			 0);
	free(records);
	ck_assert_uint_eq(g_text->replay.over, BACK - ((1 << 20) - 1));
	ck_assert_uint_eq(spans(), DEPTH);
	ck_assert_uint_eq(repaired(), 0);
	RUN(B(1, 0, DEPTH));
	ck_assert_uint_eq(g_text->open, 0);
	g_text->budget.left = 64 << 20;
}

TEST(fibers_many_buffers_are_all_known)
{
	enum { BUFFERS = 2000 };
	static struct record records[4 * BUFFERS];
	size_t n = 0;

	for (size_t i = 0; i < BUFFERS; i++) {
		records[n++] = B(1, 0x8000 - 16 * i, i);
		records[n++] = SETJMP(0x7000000 + 200 * i, 0, i);
	}
	for (size_t i = BUFFERS; i-- > 1;)
		records[n++] =
			LONGJMP(0x7000000 + 200 * (i - 1), 0, 3 * BUFFERS);
	replay_text_of(g_text, records, n);
	ck_assert_uint_eq(repaired(), BUFFERS - 1);
}

TEST(fibers_too_many_buffers_stay_within_bounds)
{
	enum { BUFFERS = 200000 };
	struct record *records = calloc(BUFFERS, sizeof(*records));

	for (size_t i = 0; i < BUFFERS; i++)
		records[i] = SETJMP(8 + 8 * i, 0, i);
	ck_assert_int_eq(fibers_run(&g_text->fibers, records, BUFFERS,
				    UINT64_MAX, &(size_t){ 0 }),
			 0);
	free(records);
	ck_assert_uint_gt(g_text->budget.left, 63 << 20);
	for (size_t i = BUFFERS - 2000; i < BUFFERS; i++)
		RUN(B(1, 0x800, BUFFERS), LONGJMP(8 + 8 * i, 0, BUFFERS));
	ck_assert_uint_gt(repaired(), 1700);
}

TEST(fibers_longjmp_to_a_context_is_no_jump)
{
	ck_assert_str_eq(RUN(SAVE(CO, 0x900, 0), MAKE(CO, 0), B(1, 0x900, 1),
			     LONGJMP(CO, 0x500, 2), E(1, 0x900, 3)),
			 "(1 )");
}

TEST(fibers_address_0_is_no_point)
{
	ck_assert_str_eq(RUN(SETJMP(BUF, 0x900, 0), SETJMP(0, 0x900, 0),
			     B(1, 0x900, 1), LONGJMP(0, 0x500, 2), SWITCH(0, 3),
			     E(1, 0x900, 4)),
			 "(1 " UNKNOWN " )");
}

/* --- exceptions ---------------------------------------------------------- */

TEST(fibers_catch_ends_what_the_exception_passed)
{
	/* Like clang++, whose exit hooks do not run while unwinding. */
	g_text->times = true;
	ck_assert_str_eq(
		RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
		    B(4, 0x600, 3), CATCH(0x800, 5), E(2, 0x800, 7),
		    E(1, 0x900, 8)),
		"@0(1 @1(2 @2(3 @3(4 @5exception) @5exception) @7) @8)");
}

TEST(fibers_catch_after_exit_hooks_ends_nothing)
{
	/* Like g++, whose exit hooks run while unwinding. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     E(3, 0x700, 3), E(2, 0x800, 4), CATCH(0x900, 5),
			     E(1, 0x900, 6)),
			 "(1 (2 (3 ) ) )");
	ck_assert_uint_eq(repaired(), 0);
}

TEST(fibers_catch_keeps_inlined_functions)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x900, 1), B(3, 0x700, 2),
			     CATCH(0x900, 3), E(2, 0x900, 4), E(1, 0x900, 5)),
			 "(1 (2 (3 exception) ) )");
}

TEST(fibers_catch_in_recursion_is_by_the_innermost)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(1, 0x800, 1), B(1, 0x700, 2),
			     CATCH(0x800, 3), E(1, 0x800, 4), E(1, 0x900, 5)),
			 "(1 (1 (1 exception) ) )");
}

TEST(fibers_catch_without_hooks_ends_nothing)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x700, 1), CATCH(0x800, 2),
			     E(1, 0x900, 3)),
			 "(1 (2 ?) )");
}

TEST(fibers_landing_ends_what_lies_deeper)
{
	/* Like clang++: a destructor in 2, a handler in 1. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     B(4, 0x600, 3), LAND(0xa08, 0x800, 5),
			     B(5, 0x780, 6), E(5, 0x780, 7),
			     LAND(0xb08, 0x900, 8), E(1, 0x900, 9)),
			 "(1 (2 (3 (4 exception) exception) (5 ) exception) )");
}

TEST(fibers_landing_without_hooks_ends_what_lies_deeper)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x700, 1), B(3, 0x600, 2),
			     LAND(0xa08, 0x800, 3), B(4, 0x700, 4),
			     E(4, 0x700, 5), E(1, 0x900, 6)),
			 "(1 (2 (3 ?) ?) (4 ) )");
}

TEST(fibers_landing_deeper_than_the_top_ends_nothing)
{
	/* Like g++, whose exit hooks ran, in a function without hooks. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1),
			     LAND(0x708, 0x600, 2), E(2, 0x800, 3),
			     E(1, 0x900, 4)),
			 "(1 (2 ) )");
	ck_assert_uint_eq(repaired(), 0);
}

TEST(fibers_landing_far_up_ends_the_right_laps)
{
	/* Frames of 32 KiB: every second one has the same hint. */
	struct record records[11];
	int i;

	for (i = 0; i < 10; i++)
		records[i] = B(i + 1, 0x8900 - 0x8000 * (i % 2), i);
	records[10] = LAND(0x8000 * 6 + 0x908, 0x900, 11);
	replay_text_of(g_text, records, 11);
	ck_assert_uint_eq(repaired(), 6);
}

TEST(fibers_landing_far_up_without_hooks_ends_nothing)
{
	/* Any call could have pushed so much stack without hooks. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1),
			     LAND(0x20008, 0x850, 2), E(2, 0x800, 3),
			     E(1, 0x900, 4)),
			 "(1 (2 ) )");
}

TEST(fibers_thread_left_ends_all)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), LEFT(2),
			     B(3, 0x880, 3), E(3, 0x880, 4)),
			 "(1 (2 exit) exit) (3 )");
}

/* --- contexts ------------------------------------------------------------ */

TEST(fibers_ping_pong_keeps_stacks_apart)
{
	ck_assert_str_eq(
		RUN(B(1, 0x900, 0), CONTEXT(CO, MAIN, 1),
		    SWAP(MAIN, 0x900, CO, 2), B(5, 0x5900, 3), B(6, 0x5800, 4),
		    SWAP(CO, 0x5800, MAIN, 5), B(2, 0x800, 6), E(2, 0x800, 7),
		    SWAP(MAIN, 0x900, CO, 8), E(6, 0x5800, 9), B(6, 0x5800, 10),
		    SWAP(CO, 0x5800, MAIN, 11), E(1, 0x900, 12)),
		"(1 1:(5 1:(6 (2 ) 1:) 1:(6 ) 1:) 1:)");
	ck_assert_uint_eq(repaired(), 0);
	ck_assert_uint_eq(g_text->fibers.mixed_contexts, 0);
	ck_assert_uint_eq(spans(), 5);
}

TEST(fibers_time_is_of_the_span_that_waits)
{
	g_text->times = true;
	RUN(B(1, 0x900, 0), CONTEXT(CO, 0, 10), SWAP(MAIN, 0x900, CO, 20),
	    B(5, 0x5900, 30), SWAP(CO, 0x5900, MAIN, 40), E(1, 0x900, 50));
	ck_assert_uint_eq(g_text->replay.cct.root->child->total_ns, 50);
}

static uint64_t g_suspended[FIBERS_MAX];

static void note_suspended(void *context, uint32_t number, uint64_t from_ns,
			   uint64_t to_ns)
{
	(void)context;
	ck_assert_uint_lt(number, FIBERS_MAX);
	ck_assert_uint_lt(from_ns, to_ns);
	g_suspended[number] += to_ns - from_ns;
}

TEST(fibers_report_the_time_without_control_of_open_calls)
{
	memset(g_suspended, 0, sizeof(g_suspended));
	g_text->fibers.sink.suspended = note_suspended;
	RUN(B(1, 0x900, 0), CONTEXT(CO, 0, 10), SWAP(MAIN, 0x900, CO, 20),
	    B(5, 0x5900, 30), SWAP(CO, 0x5900, MAIN, 45),
	    SWAP(MAIN, 0x900, CO, 60), E(5, 0x5900, 70),
	    SWAP(CO, 0x5900, MAIN, 80), E(1, 0x900, 90));
	/* The context has no open call from 70 on. */
	ck_assert_uint_eq(g_suspended[0], (45 - 20) + (80 - 60));
	ck_assert_uint_eq(g_suspended[1], 60 - 45);
}

TEST(fibers_return_to_link_is_seen_by_the_end_there)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), CONTEXT(CO, MAIN, 1),
			     SWAP(MAIN, 0x900, CO, 2), B(5, 0x5900, 3),
			     E(5, 0x5900, 4), E(1, 0x900, 5), B(2, 0x900, 6)),
			 "(1 1:(5 1:) ) (2 )");
	ck_assert_uint_eq(fibers_counts(&g_text->fibers).orphan_ends, 0);
}

TEST(fibers_return_to_link_is_seen_by_a_begin_there)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), CONTEXT(CO, MAIN, 1),
			     SWAP(MAIN, 0x900, CO, 2), B(5, 0x5900, 3),
			     E(5, 0x5900, 4), B(2, 0x880, 5), E(2, 0x880, 6),
			     E(1, 0x900, 7)),
			 "(1 1:(5 1:) (2 ) )");
}

TEST(fibers_return_to_link_of_a_function_without_hooks)
{
	/* main() has no hooks and no open frame. */
	ck_assert_str_eq(RUN(CONTEXT(CO, MAIN, 1), SWAP(MAIN, 0x900, CO, 2),
			     B(5, 0x5900, 3), E(5, 0x5900, 4), B(2, 0x880, 5),
			     E(2, 0x880, 6)),
			 "1:(5 1:) (2 )");
}

TEST(fibers_return_to_link_is_seen_by_the_next_swap_there)
{
	/* The second swap must save main's stack, not the finished one. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), CONTEXT(CO, MAIN, 1),
			     CONTEXT(CO2, MAIN, 1), SWAP(MAIN, 0x900, CO, 2),
			     B(5, 0x5900, 3), E(5, 0x5900, 4),
			     SWAP(MAIN, 0x900, CO2, 5), B(6, 0x7900, 6),
			     E(6, 0x7900, 7), E(1, 0x900, 8)),
			 "(1 1:(5 1:) 1:(6 1:) )");
}

TEST(fibers_calls_of_a_function_without_hooks_stay_in_the_context)
{
	/* The context's function has no hooks; its two callees have them. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), CONTEXT(CO, MAIN, 1),
			     SWAP(MAIN, 0x900, CO, 2), B(5, 0x5900, 3),
			     E(5, 0x5900, 4), B(6, 0x58f0, 5), E(6, 0x58f0, 6),
			     SWAP(CO, 0x5910, MAIN, 7), E(1, 0x900, 8)),
			 "(1 1:(5 1:) 1:(6 1:) )");
}

TEST(fibers_calls_below_both_stack_pointers_are_of_the_nearer)
{
	ck_assert_str_eq(RUN(B(1, 0x8900, 0), CONTEXT(CO, MAIN, 1),
			     SWAP(MAIN, 0x8900, CO, 2), B(5, 0x5900, 3),
			     E(5, 0x5900, 4), B(6, 0x58f0, 5), E(6, 0x58f0, 6),
			     B(7, 0x8800, 7), E(7, 0x8800, 8), E(1, 0x8900, 9)),
			 "(1 1:(5 1:) 1:(6 1:) (7 ) )");
}

TEST(fibers_context_that_is_told_to_be_over_is)
{
	/* All records have the same stack pointer, so hints are useless. */
	g_text->times = true;
	ck_assert_str_eq(RUN(B(1, 0x900, 0), TOLD(CO, 1),
			     SWAP(MAIN, 0x900, CO, 2), B(5, 0x900, 3),
			     E(5, 0x900, 4), B(1, 0x900, 5), E(1, 0x900, 6),
			     OVER(MAIN, 7), B(2, 0x900, 8), E(2, 0x900, 9),
			     E(1, 0x900, 10)),
			 "@0(1 1:@3(5 1:@4) 1:@5(1 1:@6) @8(2 @9) @10)");
	ck_assert_uint_eq(repaired(), 0);
	ck_assert_uint_eq(g_text->fibers.mixed_contexts, 0);
}

TEST(fibers_context_that_is_over_ends_what_is_open)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), TOLD(CO, 1),
			     SWAP(MAIN, 0x900, CO, 2), B(5, 0x900, 3),
			     OVER(MAIN, 4), E(1, 0x900, 5)),
			 "(1 1:(5 1:context) )");
}

TEST(fibers_context_that_is_over_starts_the_linked_one)
{
	/* The linked context has not run yet; its own link is main. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), TOLD(CO, 1), TOLD(CO2, 1),
			     SWAP(MAIN, 0x900, CO, 2), B(5, 0x900, 3),
			     E(5, 0x900, 4), OVER(CO2, 5), B(6, 0x900, 6),
			     E(6, 0x900, 7), OVER(MAIN, 8), B(2, 0x900, 9),
			     E(2, 0x900, 10), E(1, 0x900, 11)),
			 "(1 1:(5 1:) 1:(6 1:) (2 ) )");
	ck_assert_uint_eq(g_text->contexts, 1);
	ck_assert_uint_eq(g_text->fibers.mixed_contexts, 0);
}

TEST(fibers_context_that_is_over_and_linked_to_itself_starts_anew)
{
	RUN(B(1, 0x900, 0), TOLD(CO, 1), SWAP(MAIN, 0x900, CO, 2),
	    B(5, 0x900, 3), E(5, 0x900, 4), OVER(CO, 5), B(5, 0x900, 6),
	    E(5, 0x900, 7), OVER(MAIN, 8), E(1, 0x900, 9));
	ck_assert_uint_eq(g_text->contexts, 1);
	ck_assert_uint_eq(g_text->open, 0);
	ck_assert_uint_eq(g_text->fibers.mixed_contexts, 0);
}

TEST(fibers_context_that_is_over_without_link_calls_exit)
{
	/* Handlers of atexit() run on the context's stack. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), TOLD(CO, 1),
			     SWAP(MAIN, 0x900, CO, 2), B(5, 0x900, 3),
			     E(5, 0x900, 4), OVER(0, 5), B(6, 0x900, 6),
			     E(6, 0x900, 7)),
			 "(1 1:(5 1:) 1:(6 1:) )");
}

TEST(fibers_unknown_context_that_is_told_to_be_over_is)
{
	/* After one recorded end, no end is guessed. */
	ck_assert_str_eq(
		RUN(B(1, 0x900, 0), SWAP(MAIN, 0x900, CO, 1), B(5, 0x5900, 2),
		    E(5, 0x5900, 3), OVER(MAIN, 4), SWAP(MAIN, 0x900, CO2, 5),
		    B(5, 0x5900, 6), E(5, 0x5900, 7), B(1, 0x880, 8),
		    E(1, 0x880, 9), OVER(MAIN, 10), E(1, 0x900, 11)),
		"(1 1:" UNKNOWN " 1:(5 1:) 1:" UNKNOWN " 1:(5 1:) 1:(1 1:) )");
	ck_assert_uint_eq(g_text->fibers.mixed_contexts, 2);
}

TEST(fibers_thread_that_began_in_a_context_goes_on_without)
{
	/* main() has no hooks and was never saved. */
	ck_assert_str_eq(RUN(B(5, 0x900, 0), E(5, 0x900, 1), OVER(MAIN, 2),
			     B(6, 0x700, 3), E(6, 0x700, 4)),
			 "(5 ) (6 )");
	ck_assert_uint_eq(g_text->fibers.mixed_contexts, 0);
}

TEST(fibers_context_without_a_fiber_ends_nobody_elses)
{
	/* CO2 gets no fiber because memory is short, so it runs on CO's. */
	const struct record before[] = {
		B(1, 0x900, 0),		  TOLD(CO, 1),	   TOLD(CO2, 1),
		SWAP(MAIN, 0x900, CO, 2), B(5, 0x5900, 3),
	};
	size_t done;

	ck_assert_int_eq(fibers_run(&g_text->fibers, before, ARRAY_SIZE(before),
				    UINT64_MAX, &done),
			 0);
	g_text->fibers.full = true;
	RUN(SWAP(CO, 0x5900, CO2, 4), B(6, 0x5800, 5), E(6, 0x5800, 6),
	    OVER(CO, 7), E(5, 0x5900, 8), OVER(MAIN, 9), B(2, 0x800, 10),
	    E(2, 0x800, 11), E(1, 0x900, 12));
	ck_assert_uint_eq(g_text->contexts, 1);
	ck_assert_uint_eq(g_text->open, 0);
	ck_assert_uint_eq(repaired(), 0);
	ck_assert_uint_eq(fibers_counts(&g_text->fibers).orphan_ends, 0);
	ck_assert_uint_eq(g_text->fibers.mixed_contexts, 1);
}

TEST(fibers_context_linked_to_itself_stays_its_own)
{
	RUN(B(1, 0x900, 0), CONTEXT(CO, CO, 1), SWAP(MAIN, 0x900, CO, 2),
	    B(5, 0x5a00, 3), SAVE(CO, 0x5900, 4), E(5, 0x5a00, 5),
	    B(6, 0x58f0, 6), MAKE(CO2, 7), SWITCH(CO2, 8), B(7, 0x7000, 9));
	ck_assert_uint_eq(g_text->contexts, 2);
}

TEST(fibers_context_that_is_over_cannot_go_on)
{
	RUN(B(1, 0x900, 0), CONTEXT(CO, MAIN, 1), SWAP(MAIN, 0x900, CO, 2),
	    B(5, 0x5900, 3), SWAP(CO, 0x5900, MAIN, 4),
	    SWAP(MAIN, 0x900, CO, 5), E(5, 0x5900, 6), SWAP(MAIN, 0x900, CO, 7),
	    E(1, 0x900, 8));
	ck_assert_uint_eq(g_text->fibers.mixed_contexts, 1);
}

TEST(fibers_context_over_is_used_for_the_next_one)
{
	enum { ROUNDS = 1000 };
	static struct record records[2 + 8 * ROUNDS];
	size_t n = 0;

	records[n++] = B(1, 0x900, 0);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		const struct record round[] = {
			CONTEXT(CO, MAIN, n), SWAP(MAIN, 0x900, CO, n),
			B(5, 0x5900, n),      E(5, 0x5900, n),
			B(2, 0x800, n),
		};

		memcpy(&records[n], round, sizeof(round));
		n += ARRAY_SIZE(round);
	}
	records[n++] = E(1, 0x900, sizeof(records));
	replay_text_of(g_text, records, n);
	ck_assert_uint_eq(g_text->contexts, 1);
	ck_assert_uint_eq(spans(), 1 + 2 * ROUNDS);
	ck_assert_uint_eq(g_text->fibers.mixed_contexts, 0);
}

TEST(fibers_abandoned_context_ends_when_its_own_is_made_anew)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), CONTEXT(CO, 0, 1),
			     SWAP(MAIN, 0x900, CO, 2), B(5, 0x5900, 3),
			     SWAP(CO, 0x5900, MAIN, 4), CONTEXT(CO, 0, 5),
			     SWAP(MAIN, 0x900, CO, 6), B(6, 0x5900, 7),
			     SWAP(CO, 0x5900, MAIN, 8), E(1, 0x900, 9)),
			 "(1 1:(5 1:context) 1:(6 ) 1:)");
}

TEST(fibers_context_saved_elsewhere_outlives_what_made_it)
{
	/* A coroutine library makes all contexts with one local ucontext_t. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), CONTEXT(COPY, 0, 1),
			     SWAP(MAIN, 0x900, COPY, 2), B(5, 0x5900, 3),
			     SWAP(CO, 0x5900, MAIN, 4), CONTEXT(COPY, 0, 5),
			     SWAP(MAIN, 0x900, COPY, 6), B(6, 0x7900, 7),
			     SWAP(CO2, 0x7900, MAIN, 8),
			     SWAP(MAIN, 0x900, CO, 9), E(5, 0x5900, 10),
			     SWAP(CO, 0x5910, MAIN, 11),
			     SWAP(MAIN, 0x900, CO2, 12), E(6, 0x7900, 13),
			     SWAP(CO2, 0x7910, MAIN, 14), E(1, 0x900, 15)),
			 "(1 1:(5 2:(6 1:) 2:) )");
	ck_assert_uint_eq(repaired(), 0);
}

TEST(fibers_context_switched_to_again_starts_anew)
{
	/* The coroutine leaves by setcontext(), which saves nothing. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), CONTEXT(CO, 0, 1),
			     SWAP(MAIN, 0x900, CO, 2), B(5, 0x5900, 3),
			     SWITCH(MAIN, 4), SWAP(MAIN, 0x900, CO, 5),
			     B(5, 0x5900, 6), SWITCH(MAIN, 7), E(1, 0x900, 8)),
			 "(1 1:(5 1:context) 1:(5 ) 1:)");
}

TEST(fibers_longjmp_switches_stacks_too)
{
	/* Some coroutine libraries use swapcontext() only to start. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), SETJMP(BUF, 0x900, 1),
			     CONTEXT(CO, 0, 1), SWAP(MAIN, 0x900, CO, 2),
			     B(5, 0x5900, 3), SETJMP(COPY, 0x5900, 4),
			     LONGJMP(BUF, 0x900, 5), B(2, 0x800, 6),
			     SETJMP(BUF, 0x800, 7), LONGJMP(COPY, 0x5900, 8),
			     E(5, 0x5900, 9), LONGJMP(BUF, 0x800, 10),
			     E(2, 0x800, 11), E(1, 0x900, 12)),
			 "(1 1:(5 (2 1:) ) )");
	ck_assert_uint_eq(repaired(), 0);
}

TEST(fibers_setcontext_in_its_own_stack_is_a_jump)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), SAVE(CO, 0x900, 1), B(2, 0x800, 2),
			     SWITCH(CO, 3), E(1, 0x900, 4)),
			 "(1 (2 context) )");
}

TEST(fibers_unknown_context_has_its_own_track_and_says_so)
{
	/* Made before the thread was recorded; it returns to main. */
	ck_assert_str_eq(
		RUN(B(1, 0x900, 0), SWAP(MAIN, 0x900, CO, 1), B(5, 0x5900, 2),
		    SWAP(CO, 0x5900, MAIN, 3), B(2, 0x800, 4), E(2, 0x800, 5),
		    SWAP(MAIN, 0x900, CO, 6), E(5, 0x5900, 7), E(1, 0x900, 8)),
		"(1 1:" UNKNOWN " 1:(5 (2 ) 1:) )");
	ck_assert_uint_eq(g_text->fibers.mixed_contexts, 1);
	ck_assert_uint_eq(repaired(), 0);
}

TEST(fibers_more_contexts_than_can_be_are_mixed)
{
	enum { CONTEXTS = FIBERS_MAX + 10 };
	static struct record records[2 + 6 * CONTEXTS];
	size_t n = 0;

	records[n++] = B(1, 0x900, 0);
	for (uint64_t i = 0; i < CONTEXTS; i++) {
		const struct record round[] = {
			MAKE(0x30000 + 8 * i, n),
			SWAP(MAIN, 0x900, 0x30000 + 8 * i, n),
			B(5, 0x5900, n),
			SWAP(0x30000 + 8 * i, 0x5900, MAIN, n),
		};

		memcpy(&records[n], round, sizeof(round));
		n += ARRAY_SIZE(round);
	}
	replay_text_of(g_text, records, n);
	ck_assert_uint_eq(g_text->contexts, FIBERS_MAX);
	ck_assert_uint_ge(g_text->fibers.mixed_contexts, 10);
	ck_assert_uint_eq(spans(), 1 + CONTEXTS);
	ck_assert_uint_eq(g_text->open, 0);
}

TEST(fibers_without_memory_contexts_are_mixed)
{
	g_text->budget.left = 0;
	RUN(B(1, 0x900, 0), CONTEXT(CO, MAIN, 1), SWAP(MAIN, 0x900, CO, 2),
	    B(5, 0x5900, 3), E(5, 0x5900, 4), E(1, 0x900, 5));
	ck_assert_uint_eq(g_text->fibers.mixed_contexts, 1);
	ck_assert_uint_eq(g_text->contexts, 0);
}

/* --- the load map -------------------------------------------------------- */

TEST(fibers_reloaded_function_is_another_one)
{
	g_text->unloaded = (struct address_range){ 5, 7 };
	g_text->unloaded_count = 1;
	RUN(B(1, 0x900, 0), B(5, 0x800, 1), E(5, 0x800, 2),
	    rec(RECORD_MAP, 3, 0, 3), B(5, 0x800, 4), E(5, 0x800, 5),
	    B(4, 0x800, 6), E(4, 0x800, 7), E(1, 0x900, 8));
	/* Names come in the order of first calls. */
	ck_assert_uint_eq(g_text->name[1], 1);
	ck_assert_uint_eq(g_text->name[2], 5);
	ck_assert_uint_eq(g_text->generation[2], 0);
	ck_assert_uint_eq(g_text->name[3], 5);
	ck_assert_uint_eq(g_text->generation[3], 3);
	ck_assert_uint_eq(g_text->name[4], 4);
	ck_assert_uint_eq(g_text->generation[4], 3);
}

TEST(fibers_function_of_another_module_stays_the_same)
{
	g_text->unloaded = (struct address_range){ 6, 7 };
	g_text->unloaded_count = 1;
	RUN(B(5, 0x800, 1), E(5, 0x800, 2), rec(RECORD_MAP, 1, 0, 3),
	    B(5, 0x800, 4), E(5, 0x800, 5));
	ck_assert_uint_eq(g_text->name[2], 0);
	ck_assert_uint_eq(g_text->replay.cct.functions->generation, 0);
}

TEST(fibers_unloaded_function_that_is_open_ends_as_it_began)
{
	g_text->unloaded = (struct address_range){ 5, 7 };
	g_text->unloaded_count = 1;
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(5, 0x800, 1),
			     rec(RECORD_MAP, 1, 0, 2), B(5, 0x700, 3),
			     E(5, 0x700, 4), E(5, 0x800, 5), E(1, 0x900, 6)),
			 "(1 (5 (5 ) ) )");
	ck_assert_uint_eq(repaired(), 0);
}

TEST(fibers_more_unloaded_than_told_retires_all)
{
	g_text->unloaded_count = SIZE_MAX;
	RUN(B(5, 0x800, 1), E(5, 0x800, 2), rec(RECORD_MAP, 1, 0, 3),
	    B(5, 0x800, 4), E(5, 0x800, 5));
	ck_assert_uint_eq(g_text->name[2], 5);
	ck_assert_uint_eq(g_text->generation[2], 1);
}

TEST(fibers_map_applies_to_every_context)
{
	g_text->unloaded = (struct address_range){ 5, 7 };
	g_text->unloaded_count = 1;
	RUN(CONTEXT(CO, 0, 1), SWAP(MAIN, 0x900, CO, 2), B(5, 0x5900, 3),
	    E(5, 0x5900, 4), SWAP(CO, 0x5910, MAIN, 5),
	    rec(RECORD_MAP, 1, 0, 6), SWAP(MAIN, 0x900, CO, 7), B(5, 0x5900, 8),
	    E(5, 0x5900, 9));
	ck_assert_uint_eq(g_text->context_name[1][2], 5);
	ck_assert_uint_eq(g_text->generation[2], 1);
}

TEST(fibers_context_starts_with_the_map_of_its_thread)
{
	RUN(rec(RECORD_MAP, 9, 0, 0), CONTEXT(CO, 0, 1),
	    SWAP(MAIN, 0x900, CO, 2), B(5, 0x5900, 3));
	ck_assert_uint_eq(g_text->context_name[1][1], 5);
	ck_assert_uint_eq(g_text->generation[1], 9);
}

TEST(fibers_map_that_goes_back_is_ignored)
{
	g_text->unloaded_count = SIZE_MAX;
	RUN(rec(RECORD_MAP, 7, 0, 0), B(5, 0x800, 1), E(5, 0x800, 2),
	    rec(RECORD_MAP, 6, 0, 3), rec(RECORD_MAP, 7, 0, 3),
	    rec(RECORD_MAP, 1ULL << 32, 0, 3), B(5, 0x800, 4), E(5, 0x800, 5));
	ck_assert_uint_eq(g_text->name[2], 0);
	ck_assert_uint_eq(g_text->generation[1], 7);
}

TEST(fibers_maps_all_the_time_cost_what_records_pay)
{
	enum { FUNCTIONS = 10000, MAPS = 50000 };
	struct record *records = calloc(MAPS, sizeof(*records));
	size_t i;

	for (i = 0; i < FUNCTIONS; i++)
		records[i] = B(i, 0x800, i);
	for (; i < MAPS; i++)
		records[i] = rec(RECORD_MAP, i, 0, i);
	g_text->unloaded = (struct address_range){ 1ULL << 40, 1ULL << 41 };
	g_text->unloaded_count = 1;
	replay_text_of(g_text, records, MAPS);
	free(records);
	ck_assert_uint_gt(g_text->fibers.skipped_maps, 0);
	ck_assert_uint_lt(g_text->fibers.skipped_maps, MAPS - FUNCTIONS);
}

/* --- the thread ---------------------------------------------------------- */

TEST(fibers_fork_records_are_remembered)
{
	ck_assert_str_eq(RUN(rec(RECORD_FORK, 4711, 0, 0), B(1, 0x900, 1),
			     rec(RECORD_FORKING, 0, 0, 2), E(1, 0x900, 3)),
			 "*forked (1 )");
	ck_assert_uint_eq(g_text->fibers.fork_parent, 4711);
	ck_assert(g_text->fibers.forking);
}

TEST(fibers_memory_is_given_back)
{
	const struct budget *budget = &g_text->budget;

	RUN(B(1, 0x900, 0), CONTEXT(CO, 0, 1), SETJMP(BUF, 0x900, 1),
	    SWAP(MAIN, 0x900, CO, 2), B(5, 0x5900, 3));
	ck_assert_uint_lt(budget->left, 64 << 20);
	fibers_release(&g_text->fibers);
	replay_release(&g_text->replay);
	ck_assert_uint_eq(budget->left, 64 << 20);
}
