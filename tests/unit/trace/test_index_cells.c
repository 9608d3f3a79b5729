/* SPDX-License-Identifier: Apache-2.0
 *
 * Size of the cells, and missing memory. tests/index_check.h compares their
 * contents with all slices, in the tests of replay.
 */
#include "collector/trace/index_cells.h"

#include "collector/base/budget.h"
#include "collector/base/bytes.h"
#include "tests/random.h"
#include "tests/suite.h"

#define BUDGET_BYTES (1 << 20)

static struct budget g_budget;
static struct index_cells g_cells;
static struct bytes g_bytes;
static uint64_t g_random, g_ns, g_chunk;
static uint64_t g_blocks[INDEX_CELL_LEVELS];

static void setup(void)
{
	g_budget = (struct budget){ .left = BUDGET_BYTES };
	g_cells = (struct index_cells){ .budget = &g_budget };
	memset(g_blocks, 0, sizeof(g_blocks));
	g_random = 1;
	g_ns = 1000000000000;
	g_chunk = 0;
}

static void teardown(void)
{
	index_cells_release(&g_cells);
	ck_assert_uint_eq(g_budget.left, BUDGET_BYTES);
	bytes_release(&g_bytes);
}

static void put_levels(bool last)
{
	for (unsigned int level = 0; level < INDEX_CELL_LEVELS; level++) {
		struct index_cell_block *block =
			index_cells_full(&g_cells, level, last);

		if (!block && !last)
			break;
		if (!block)
			continue;
		for (uint32_t i = 0; i < block->list.count; i++)
			block->list.cells[i].number = 1 + i % 100;
		index_cells_put(&g_cells, level, &g_bytes);
		g_blocks[level]++;
	}
}

static void run_chunk(uint64_t spans, uint64_t step_ns, uint32_t depths,
		      bool last)
{
	struct index_cell_block chunk = { .spans = spans, .start_ns = g_ns };

	for (uint64_t i = 0; i < spans; i++) {
		uint32_t depth = (uint32_t)(next_random(&g_random) % depths);
		uint64_t begin_ns = g_ns;

		g_ns += next_random(&g_random) % (2 * step_ns + 1);
		index_cells_end(&g_cells, depth, &g_cells, begin_ns, g_ns);
	}
	chunk.first_chunk = chunk.last_chunk = ++g_chunk;
	chunk.end_ns = g_ns;
	index_cells_chunk(&g_cells, &chunk);
	put_levels(last);
}

/* The trace itself has at least 20 bytes per span. */
static void check_size(int chunks, uint64_t spans, uint64_t step_ns,
		       uint32_t depths)
{
	uint64_t all = (uint64_t)chunks * spans;

	bytes_clear(&g_bytes);
	for (int i = 0; i < chunks; i++)
		run_chunk(spans, step_ns, depths, i == chunks - 1);
	ck_assert(!g_bytes.failed && !g_cells.failed);
	ck_assert_uint_gt(g_bytes.count, all / 200);
	ck_assert_uint_lt(g_bytes.count, all * 20 / 200 + 200);
}

FIXTURE(setup, teardown);

TEST(index_cells_of_a_fast_thread_are_half_a_percent)
{
	check_size(20, 65536, 25, 10);
	ck_assert_uint_eq(g_blocks[0], 20);
	ck_assert_uint_eq(g_blocks[1], 5);
	ck_assert_uint_eq(g_blocks[2], 1);
	ck_assert_uint_eq(g_blocks[3], 1);
}

TEST(index_cells_of_a_slow_thread_are_half_a_percent)
{
	check_size(200, 1500, 1000000, 6);
	/* 44 chunks have 64 Ki spans. */
	ck_assert_uint_eq(g_blocks[0], 5);
	ck_assert_uint_eq(g_blocks[2], 1);
}

TEST(index_cells_of_deep_stacks_are_half_a_percent)
{
	check_size(6, 65536, 100, 512);
}

TEST(index_cells_of_a_rate_that_changes_are_half_a_percent)
{
	uint64_t bytes;

	for (int i = 0; i < 12; i++) {
		bytes = g_bytes.count;
		run_chunk(65536, i & 1 ? 10 : 10000000, 8, false);
		/* The first fast chunk finds buckets sized for slow calls. */
		ck_assert(i == 1 || g_bytes.count - bytes > 65536 / 200);
		ck_assert_uint_lt(g_bytes.count - bytes, 3 * 65536 / 16);
	}
}

TEST(index_cells_of_few_spans_are_few)
{
	run_chunk(3, 1000, 3, true);
	ck_assert_uint_gt(g_bytes.count, 0);
	ck_assert_uint_lt(g_bytes.count, 100);
}

/* One block has all spans, in 32 to 64 buckets. */
TEST(index_cells_widths_follow_the_rate)
{
	for (uint64_t step = 1; step < 1000000000; step *= 1000) {
		struct index_cell_block *block;

		for (int i = 0; i < 3; i++)
			run_chunk(65536, step, 1, false);
		run_chunk(60000, step, 1, false);
		block = &g_cells.level[0];
		index_cells_full(&g_cells, 0, true);
		ck_assert_uint_le(block->list.count, 64);
		ck_assert_uint_ge(block->list.count, 29);
		index_cells_put(&g_cells, 0, &g_bytes);
	}
}

/* There may be a thousand such threads. */
TEST(index_cells_take_little_memory)
{
	uint64_t most = 0;

	for (int i = 0; i < 40; i++) {
		run_chunk(1500, 1000000, 8, false);
		most = MAX(most, BUDGET_BYTES - g_budget.left);
	}
	ck_assert_uint_lt(most, 40 << 10);
	for (int i = 0; i < 70; i++) {
		run_chunk(65536, 50, 8, false);
		most = MAX(most, BUDGET_BYTES - g_budget.left);
	}
	/* Three levels, and the list of a merge. */
	ck_assert_uint_lt(most, 80 << 10);
	ck_assert(!g_cells.failed);
}

TEST(index_cells_without_memory_are_none)
{
	for (uint64_t left = 0; left < 100000; left += 3000) {
		index_cells_release(&g_cells);
		g_budget.left = left;
		run_chunk(70000, 50, 20, false);
		run_chunk(70000, 50, 20, true);
		ck_assert(left > 80000 || g_cells.failed);
		index_cells_release(&g_cells);
		ck_assert_uint_eq(g_budget.left, left);
	}
	g_budget.left = BUDGET_BYTES;
}
