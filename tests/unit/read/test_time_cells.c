/* SPDX-License-Identifier: Apache-2.0
 *
 * Any times in any order give a bounded number of buckets and cells, and lose
 * no ns and no call.
 */
#include "collector/read/time_cells.h"
#include "tests/random.h"
#include "tests/suite.h"

static struct time_cells g_table;

static void sum(uint64_t *ns, uint64_t *calls)
{
	*ns = *calls = 0;
	for (uint32_t i = 0; i < g_table.count; i++) {
		*ns += g_table.cells[i].ns;
		*calls += g_table.cells[i].calls;
	}
}

static void count_call(uint32_t thread, uint32_t node, uint64_t ns)
{
	uint32_t hint = 0;
	struct time_cell *cell =
		time_cells_get(&g_table, thread, node, ns, &hint);

	ck_assert_ptr_nonnull(cell);
	ck_assert_uint_eq(time_cells_thread(cell), thread);
	ck_assert_uint_eq(time_cells_node(cell), node);
	cell->calls++;
}

static void release_table(void)
{
	time_cells_release(&g_table);
}

FIXTURE(NULL, release_table);

TEST(time_cells_spread_an_amount_and_lose_nothing)
{
	const struct time_amount amount = { .ns = 1001, .calls = 7 };
	uint64_t ns, calls;

	time_cells_init(&g_table, 1000);
	time_cells_spread(&g_table, 1, 2, 1000, 9000, &amount);
	time_cells_spread(&g_table, 1, 2, 5000, 5000, &amount);
	sum(&ns, &calls);
	ck_assert_uint_eq(ns, 2002);
	ck_assert_uint_eq(calls, 14);
	time_cells_sort(&g_table);
	ck_assert_uint_eq(g_table.cells[0].ns, 1001 * 24 / 8000);
	ck_assert_uint_eq(g_table.cells[4].ns,
			  1001 * 4120 / 8000 - 1001 * 3096 / 8000 + 1001);
}

TEST(time_cells_share_a_stretch_out_among_its_buckets)
{
	uint32_t hint = 0;

	time_cells_init(&g_table, 1000);
	time_cells_add(&g_table, 1, 2, 1000, 5000, &hint);
	time_cells_sort(&g_table);
	/* Buckets are 1,024 ns wide, from 0 on. */
	ck_assert_uint_eq(time_cells_buckets(&g_table), 5);
	ck_assert_uint_eq(g_table.count, 5);
	ck_assert_uint_eq(g_table.cells[0].ns, 24);
	ck_assert_uint_eq(g_table.cells[1].ns, 1024);
	ck_assert_uint_eq(g_table.cells[4].ns, 5000 - 4096);
	ck_assert_uint_eq(time_cells_bucket(&g_table, &g_table.cells[4]), 4);
}

TEST(time_cells_take_earlier_and_much_later_times)
{
	const uint64_t times[] = { 1ULL << 40,	     (1ULL << 40) + 5, 7,
				   (1ULL << 40) - 9, UINT64_MAX,       1 };
	uint64_t ns, calls;

	time_cells_init(&g_table, 1000);
	for (size_t i = 0; i < 6; i++) {
		count_call(3, 4, times[i]);
		ck_assert_uint_le(time_cells_buckets(&g_table),
				  TIME_BUCKETS_MAX);
	}
	sum(&ns, &calls);
	ck_assert_uint_eq(calls, 6);
	time_cells_sort(&g_table);
	ck_assert_uint_eq(time_cells_bucket(&g_table, &g_table.cells[0]), 0);
	ck_assert_uint_le(time_cells_begin(&g_table, 0), 1);
}

TEST(time_cells_lose_nothing_when_buckets_become_wider)
{
	uint64_t random = 7;
	uint64_t ns, calls, at = 5000000, all = 0;
	uint32_t hint = 0;

	time_cells_init(&g_table, 3000);
	for (int i = 0; i < 20000; i++) {
		uint64_t to = at + next_random(&random) % 3000;
		uint32_t node = (uint32_t)(next_random(&random) % 50);

		time_cells_add(&g_table, i % 3, node, at, to, &hint);
		count_call(i % 3, node, to);
		all += to - at;
		at = to;
	}
	sum(&ns, &calls);
	ck_assert_uint_eq(ns, all);
	ck_assert_uint_eq(calls, 20000);
	ck_assert_uint_le(g_table.count, 3000);
	ck_assert_uint_eq(g_table.refused, 0);
	ck_assert_uint_gt(time_cells_buckets(&g_table), 4);
	time_cells_sort(&g_table);
	for (uint32_t i = 1; i < g_table.count; i++) {
		const struct time_cell *one = &g_table.cells[i - 1];
		const struct time_cell *other = one + 1;
		uint32_t a = time_cells_bucket(&g_table, one);
		uint32_t b = time_cells_bucket(&g_table, other);

		ck_assert(a < b ||
			  (a == b && (one->key & ~0ULL >> 20) <
					     (other->key & ~0ULL >> 20)));
	}
}

TEST(time_cells_refuse_what_has_no_room_at_any_width)
{
	uint32_t hint = 0;

	time_cells_init(&g_table, 10);
	for (uint32_t node = 1; node <= 10; node++)
		count_call(1, node, node * 100000);
	ck_assert_ptr_null(time_cells_get(&g_table, 1, 11, 5, &hint));
	ck_assert_uint_eq(g_table.refused, 1);
	count_call(1, 10, 77);
}
