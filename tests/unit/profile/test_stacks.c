/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/profile/stacks.h"

#include <pthread.h>

#include "collector/base/budget.h"
#include "tests/suite.h"

#define THREADS 4
#define DEPTH 1000

static struct budget g_budget;
static struct stacks *g_stacks;

static void set_up(void)
{
	g_budget.left = 64 << 20;
	ck_assert_int_eq(stacks_new(&g_budget, &g_stacks), 0);
}

static void tear_down(void)
{
	stacks_free(&g_stacks);
	ck_assert_ptr_null(g_stacks);
}

static uint32_t child(uint32_t parent, uint64_t address, uint32_t generation,
		      enum frame_kind kind)
{
	const struct stack_frame frame = { address, generation, kind };

	return stacks_child(g_stacks, parent, &frame);
}

FIXTURE(set_up, tear_down);

TEST(stacks_child_of_equal_frames_is_one)
{
	uint32_t one = child(STACKS_ROOT, 0x1000, 1, FRAME_RETURN);
	uint32_t two = child(one, 0x2000, 1, FRAME_PC);
	struct stack_frame frame = stacks_frame(g_stacks, two);

	ck_assert_uint_eq(child(STACKS_ROOT, 0x1000, 1, FRAME_RETURN), one);
	ck_assert_uint_eq(child(one, 0x2000, 1, FRAME_PC), two);
	ck_assert_uint_eq(stacks_parent(g_stacks, two), one);
	ck_assert_uint_eq(stacks_parent(g_stacks, one), STACKS_ROOT);
	ck_assert_uint_eq(frame.address, 0x2000);
	ck_assert_uint_eq(frame.generation, 1);
	ck_assert_uint_eq(frame.kind, FRAME_PC);
	ck_assert_uint_lt(two, stacks_count(g_stacks));
}

TEST(stacks_child_tells_generations_kinds_and_parents_apart)
{
	uint32_t one = child(STACKS_ROOT, 0x1000, 1, FRAME_RETURN);

	ck_assert_uint_ne(child(STACKS_ROOT, 0x1000, 2, FRAME_RETURN), one);
	ck_assert_uint_ne(child(STACKS_ROOT, 0x1000, 1, FRAME_PC), one);
	ck_assert_uint_ne(child(one, 0x1000, 1, FRAME_RETURN), one);
}

static bool is_other(uint32_t stack)
{
	const struct stack_frame frame = stacks_frame(g_stacks, stack);

	return stacks_parent(g_stacks, stack) == STACKS_ROOT &&
	       frame.kind == FRAME_NAMED && frame.address == FRAME_OTHER;
}

TEST(stacks_child_without_room_is_other)
{
	uint32_t first, last = STACKS_ROOT;

	g_budget.left = 32 << 10;
	first = child(STACKS_ROOT, 1, 0, FRAME_PC);
	for (uint64_t i = 2; i < 10000; i++)
		last = child(STACKS_ROOT, i, 0, FRAME_PC);
	ck_assert(is_other(last));
	ck_assert_uint_gt(stacks_lost(g_stacks), 0);
	ck_assert_uint_eq(child(last, 7, 0, FRAME_PC), last);
	ck_assert_uint_eq(child(STACKS_ROOT, FRAME_OTHER, 0, FRAME_NAMED),
			  last);
	ck_assert_uint_eq(child(STACKS_ROOT, 1, 0, FRAME_PC), first);
	ck_assert(!is_other(first));
}

TEST(stacks_without_any_memory_has_other)
{
	uint64_t lost = stacks_lost(g_stacks);

	g_budget.left = 0;
	ck_assert(is_other(child(STACKS_ROOT, 1, 0, FRAME_PC)));
	ck_assert_uint_eq(stacks_lost(g_stacks), lost + 1);
}

TEST(stacks_frame_of_no_stack_is_nothing)
{
	ck_assert_uint_eq(stacks_frame(g_stacks, STACKS_ROOT).address, 0);
	ck_assert_uint_eq(stacks_frame(g_stacks, 12345).address, 0);
	ck_assert_uint_eq(stacks_parent(g_stacks, 12345), STACKS_ROOT);
}

TEST(stacks_below_has_all_frames_below_the_root)
{
	uint32_t root = child(STACKS_ROOT, 7, 0, FRAME_LABEL);
	uint32_t from = STACKS_ROOT, wanted = root, got;

	for (uint32_t i = 0; i < STACKS_BELOW_MAX; i++) {
		from = child(from, i, i, FRAME_RETURN);
		wanted = child(wanted, i, i, FRAME_RETURN);
	}
	ck_assert_uint_eq(stacks_below(g_stacks, root, from), wanted);
	ck_assert_uint_eq(stacks_below(g_stacks, root, STACKS_ROOT), root);
	/* The innermost frames of a deeper stack. */
	from = child(from, 1, 1, FRAME_PC);
	got = stacks_below(g_stacks, root, from);
	ck_assert_uint_eq(stacks_frame(g_stacks, got).kind, FRAME_PC);
	for (uint32_t i = 1; i < STACKS_BELOW_MAX; i++)
		got = stacks_parent(g_stacks, got);
	ck_assert_uint_eq(stacks_frame(g_stacks, got).address, 1);
	ck_assert_uint_eq(stacks_parent(g_stacks, got), root);
}

TEST(stacks_below_without_room_is_other)
{
	uint32_t root = child(STACKS_ROOT, 7, 0, FRAME_LABEL);
	uint32_t from = STACKS_ROOT, other = STACKS_ROOT;
	uint64_t lost;

	for (uint64_t i = 0; i < 10; i++)
		from = child(from, i, 0, FRAME_RETURN);
	g_budget.left = 0;
	for (uint64_t i = 0; i < DEPTH; i++)
		other = child(STACKS_ROOT, i, 0, FRAME_PC);
	ck_assert(is_other(other));
	lost = stacks_lost(g_stacks);
	ck_assert_uint_eq(stacks_below(g_stacks, root, from), other);
	ck_assert_uint_eq(stacks_lost(g_stacks), lost + 1);
	ck_assert_uint_eq(stacks_below(g_stacks, root, other), other);
}

static void *make_stack(void *out)
{
	uint32_t stack = STACKS_ROOT;

	for (uint64_t i = 0; i < DEPTH; i++)
		stack = child(stack, i, 0, FRAME_RETURN);
	*(uint32_t *)out = stack;
	return NULL;
}

TEST(stacks_made_by_threads_are_the_same)
{
	pthread_t thread[THREADS];
	uint32_t stack[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(
			pthread_create(&thread[i], NULL, make_stack, &stack[i]),
			0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 1; i < THREADS; i++)
		ck_assert_uint_eq(stack[i], stack[0]);
	ck_assert_uint_eq(stacks_count(g_stacks), DEPTH + 2);
}
