/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_history: at each point the listed places have their bytes in use, however
 * long the history gets, and no other place has more.
 */
#include "collector/base/budget.h"
#include "collector/heap/heap.h"
#include "collector/heap/heap_history.h"
#include "tests/suite.h"

#define BUDGET (1ULL << 28)
#define MS 1000000ULL
#define PLACES 100
#define BLOCKS 5000

static struct budget g_budget;
static struct heap g_heap;
static struct stacks *g_stacks;
static struct heap_history g_history;
static uint64_t g_clock;

static void begin_history(void)
{
	g_budget.left = BUDGET;
	ck_assert_int_eq(heap_init(&g_heap, &g_budget, 0, 1), 0);
	ck_assert_int_eq(stacks_new(&g_budget, &g_stacks), 0);
	heap_history_init(&g_history, &g_budget);
}

static void end_history(void)
{
	heap_history_release(&g_history);
	stacks_free(&g_stacks);
	heap_release(&g_heap);
	ck_assert_uint_eq(g_budget.left, BUDGET);
}

FIXTURE(begin_history, end_history);

static uint32_t frame_below(uint32_t parent, uint64_t address,
			    enum frame_kind kind)
{
	const struct stack_frame frame = { .address = address, .kind = kind };

	return stacks_child(g_stacks, parent, &frame);
}

/* The site of @owner that allocates in function @number, by one of two ways. */
static uint32_t site(uint32_t owner, uint32_t number, uint32_t way)
{
	uint32_t outer = frame_below(STACKS_ROOT, 7 + way, FRAME_ENTRY);

	return heap_site(&g_heap, owner,
			 frame_below(outer, 1000 + number, FRAME_ENTRY));
}

static void put(uint64_t address, uint64_t size, uint32_t at)
{
	heap_alloc(&g_heap, ++g_clock, address, size, at);
}

static uint64_t bytes_at(const struct history_point *point, uint64_t address)
{
	const struct history_place *places = g_history.places.items;

	for (uint32_t i = 0; i < point->count; i++)
		if (places[point->place[i]].frame[0].address == address)
			return point->bytes[i];
	return 0;
}

TEST(threads_and_stacks_of_a_function_are_one_place)
{
	put(0x10, 100, site(1, 5, 0));
	put(0x20, 30, site(2, 5, 1));
	put(0x30, 7, site(1, 6, 0));
	/* Outside of any function: in the total only. */
	put(0x40, 1000, heap_site(&g_heap, 1, STACKS_ROOT));
	put(0x50, 2000,
	    heap_site(&g_heap, 1,
		      frame_below(STACKS_ROOT, FRAME_UNKNOWN, FRAME_NAMED)));
	heap_history_take(&g_history, &g_heap, g_stacks, 5 * MS);
	ck_assert_uint_eq(g_history.count, 1);
	ck_assert_uint_eq(g_history.points[0].total, 3137);
	ck_assert_uint_eq(g_history.points[0].count, 2);
	ck_assert_uint_eq(bytes_at(&g_history.points[0], 1005), 130);
	ck_assert_uint_eq(bytes_at(&g_history.points[0], 1006), 7);
	ck_assert_uint_gt(g_history.next_ns, 5 * MS);
}

TEST(a_call_of_malloc_is_told_apart_by_its_caller)
{
	uint32_t outer = frame_below(STACKS_ROOT, 50, FRAME_RETURN);
	uint32_t other = frame_below(STACKS_ROOT, 60, FRAME_RETURN);

	put(0x10, 100,
	    heap_site(&g_heap, 0, frame_below(outer, 9, FRAME_RETURN)));
	put(0x20, 30,
	    heap_site(&g_heap, 0, frame_below(other, 9, FRAME_RETURN)));
	heap_history_take(&g_history, &g_heap, g_stacks, MS);
	ck_assert_uint_eq(g_history.points[0].count, 2);
	ck_assert_uint_eq(g_history.places.count, 2);
}

TEST(everything_freed_leaves_an_empty_point)
{
	put(0x10, 100, site(1, 5, 0));
	heap_history_take(&g_history, &g_heap, g_stacks, MS);
	heap_free(&g_heap, ++g_clock, 0x10, 1, false);
	heap_history_take(&g_history, &g_heap, g_stacks, 20 * MS);
	ck_assert_uint_eq(g_history.count, 2);
	ck_assert_uint_eq(g_history.points[1].count, 0);
	ck_assert_uint_eq(g_history.points[1].total, 0);
}

TEST(a_point_of_the_same_time_is_replaced)
{
	heap_history_take(&g_history, &g_heap, g_stacks, MS);
	put(0x10, 100, site(1, 5, 0));
	heap_history_take(&g_history, &g_heap, g_stacks, MS);
	ck_assert_uint_eq(g_history.count, 1);
	ck_assert_uint_eq(g_history.points[0].total, 100);
}

TEST(a_point_that_took_long_delays_the_next)
{
	uint64_t next_ns;

	heap_history_take(&g_history, &g_heap, g_stacks, MS);
	next_ns = g_history.next_ns;
	heap_history_delay(&g_history, 2 * MS);
	/* Points take 2 % of the time at most. */
	ck_assert_uint_ge(g_history.next_ns, next_ns + 50 * 2 * MS);
}

TEST(points_never_grow_beyond_their_number)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < 10 * HISTORY_POINTS; i++) {
		ns = MAX(ns + MS, g_history.next_ns);
		put(0x10 + 16ULL * i, 1, site(1, 5, 0));
		heap_history_take(&g_history, &g_heap, g_stacks, ns);
		ck_assert_uint_le(g_history.count, HISTORY_POINTS);
		ck_assert_uint_eq(g_history.points[g_history.count - 1].ns, ns);
		ck_assert_uint_eq(g_history.points[g_history.count - 1].total,
				  i + 1);
	}
	ck_assert_uint_ge(g_history.count, HISTORY_POINTS / 2);
	ck_assert_uint_ge(g_history.step_ns, 8 * 10 * MS);
	ck_assert_uint_eq(g_history.points[0].total, 1);
	for (uint32_t i = 1; i < g_history.count; i++) {
		const struct history_point *point = &g_history.points[i];

		ck_assert_uint_gt(point->ns, point[-1].ns);
		ck_assert_uint_eq(bytes_at(point, 1005), point->total);
	}
}

/* Functions with random blocks of @_i threads. */
TEST(the_largest_places_are_listed, EACH(1, 4))
{
	uint64_t of[PLACES] = { 0 }, size[BLOCKS] = { 0 };
	uint32_t owner[BLOCKS] = { 0 };

	for (uint32_t step = 0; step < 40000; step++) {
		uint32_t block = (uint32_t)random() % BLOCKS;
		uint32_t place = block % PLACES;
		uint64_t address = 0x1000 + 16ULL * block;
		const struct history_point *point;
		uint64_t least = UINT64_MAX;

		if (size[block]) {
			heap_free(&g_heap, ++g_clock, address, owner[block],
				  false);
			of[place] -= size[block];
			size[block] = 0;
		} else {
			size[block] = 1 + (uint64_t)random() % (1 + place * 50);
			owner[block] = (uint32_t)random() % (uint32_t)_i;
			put(address, size[block],
			    site(owner[block], place, block & 1));
			of[place] += size[block];
		}
		if (step % 500)
			continue;
		heap_history_take(&g_history, &g_heap, g_stacks, step * MS);
		point = &g_history.points[g_history.count - 1];
		for (uint32_t i = 0; i < point->count; i++)
			least = MIN(least, point->bytes[i]);
		for (uint32_t i = 0; i < PLACES; i++) {
			uint64_t listed = bytes_at(point, 1000 + i);

			if (listed || point->count < HISTORY_TOP)
				ck_assert_uint_eq(listed, of[i]);
			else
				ck_assert_uint_le(of[i], least);
		}
	}
}

TEST(without_memory_there_is_no_point)
{
	struct budget none = { .left = 0 };
	struct heap_history history;

	heap_history_init(&history, &none);
	heap_history_take(&history, &g_heap, g_stacks, MS);
	ck_assert_uint_eq(history.count, 0);
	ck_assert_uint_gt(history.next_ns, MS);
	heap_history_release(&history);
}
