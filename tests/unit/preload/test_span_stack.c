/* SPDX-License-Identifier: Apache-2.0
 *
 * test_span_stack - the shim's stack of spans with withheld begins: matching
 * ends, overflow, longjmp() and annotations.
 */

#include "preload/core/span_stack.h"
#include "tests/suite.h"

#define F 0x500000 /* above SITES_MAX, like all functions */
#define G 0x600000
#define NOTE 7 /* the id of an annotation's site plays its function */
#define SP 0x7ffe0000

static struct span_stack g_stack;

static void empty_stack(void)
{
	memset(&g_stack, 0, sizeof(g_stack));
}

static uint64_t end_word(uint64_t site, uintptr_t sp)
{
	return record_word(RECORD_END, site, sp);
}

FIXTURE(empty_stack, NULL);

TEST(an_end_takes_its_begin)
{
	ck_assert(span_stack_push(&g_stack, F, SP));
	ck_assert(span_stack_push(&g_stack, G, SP - 64));
	ck_assert(span_stack_end(&g_stack, G, SP - 64));
	/* alloca() has lowered the stack pointer. */
	ck_assert(span_stack_end(&g_stack, F, SP - 256));
	ck_assert(!span_stack_end(&g_stack, F, SP));
	ck_assert_uint_eq(g_stack.count, 0);
}

TEST(an_end_of_a_recorded_span_takes_nothing)
{
	span_stack_push(&g_stack, F, SP);
	/* G's begin was recorded. Its caller F is still open. */
	ck_assert(!span_stack_end(&g_stack, G, SP - 64));
	ck_assert_uint_eq(g_stack.count, 1);
	ck_assert(span_stack_end(&g_stack, F, SP));
}

TEST(frames_that_a_jump_has_left_are_forgotten)
{
	span_stack_push(&g_stack, F, SP);
	span_stack_push(&g_stack, G, SP - 64);
	span_stack_push(&g_stack, G, SP - 128);
	/* longjmp() went back to F, which ends now. */
	ck_assert(span_stack_end(&g_stack, F, SP));
	ck_assert_uint_eq(g_stack.count, 0);
}

TEST(a_full_stack_counts)
{
	for (uintptr_t i = 0; i < SPAN_STACK_MAX; i++)
		ck_assert(span_stack_push(&g_stack, F, SP - 16 * i));
	ck_assert(!span_stack_push(&g_stack, G, SP - 8192));
	ck_assert(!span_stack_push(&g_stack, G, SP - 8208));
	ck_assert_uint_eq(g_stack.above, 2);
	ck_assert(span_stack_end(&g_stack, G, SP - 8208));
	ck_assert(span_stack_end(&g_stack, G, SP - 8192));
	ck_assert_uint_eq(g_stack.above, 0);
	ck_assert_uint_eq(g_stack.count, SPAN_STACK_MAX);
	for (uintptr_t i = SPAN_STACK_MAX; i-- > 0;)
		ck_assert(span_stack_end(&g_stack, F, SP - 16 * i));
	ck_assert_uint_eq(g_stack.count, 0);
}

TEST(what_was_counted_goes_with_the_top)
{
	for (uintptr_t i = 0; i < SPAN_STACK_MAX; i++)
		span_stack_push(&g_stack, F, SP - 16 * i);
	span_stack_push(&g_stack, G, SP - 8192);
	span_stack_pop(&g_stack);
	ck_assert_uint_eq(g_stack.above, 0);
}

TEST(an_annotation_ends_in_any_order)
{
	span_stack_push(&g_stack, NOTE, SP - 32);
	span_stack_push(&g_stack, G, SP - 64);
	/* G ends the annotation of its caller. */
	ck_assert(span_stack_end_note(&g_stack, end_word(NOTE, SP - 32)));
	ck_assert(!span_stack_end_note(&g_stack, end_word(NOTE, SP - 32)));
	ck_assert_uint_eq(g_stack.count, 2);
	ck_assert(span_stack_end(&g_stack, G, SP - 64));
	/* The annotation's place lies below the repaired stack pointer. */
	span_stack_repair(&g_stack, SP);
	ck_assert_uint_eq(g_stack.count, 0);
}

TEST(annotations_of_one_site_are_told_apart_by_the_hint)
{
	span_stack_push(&g_stack, NOTE, SP - 32);
	span_stack_push(&g_stack, NOTE, SP - 64);
	ck_assert(!span_stack_end_note(&g_stack, end_word(NOTE, SP - 96)));
	ck_assert(span_stack_end_note(&g_stack, end_word(NOTE, SP - 64)));
	ck_assert_uint_eq(g_stack.count, 1);
	ck_assert(span_stack_end_note(&g_stack, end_word(NOTE, SP - 32)));
}

TEST(annotations_that_nobody_ends_go_with_their_function)
{
	span_stack_push(&g_stack, F, SP);
	/* An inlined function shares the stack pointer. */
	span_stack_push(&g_stack, NOTE, SP);
	span_stack_push(&g_stack, NOTE + 1, SP);
	ck_assert(span_stack_end(&g_stack, F, SP));
	ck_assert_uint_eq(g_stack.count, 0);
}

TEST(an_annotation_may_be_one_that_was_counted)
{
	ck_assert(!span_stack_end_above(&g_stack));
	for (uintptr_t i = 0; i <= SPAN_STACK_MAX; i++)
		span_stack_push(&g_stack, NOTE, SP - 16 * i);
	ck_assert(span_stack_end_above(&g_stack));
	ck_assert(!span_stack_end_above(&g_stack));
}
