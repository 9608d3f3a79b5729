/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/slowest.h"

#include "tests/suite.h"

static struct slowest g_slowest;

static void set_up(void)
{
	slowest_init(&g_slowest);
}

static void tear_down(void)
{
	slowest_release(&g_slowest);
}

FIXTURE(set_up, tear_down);

/* Arguments of @bytes, without content. */
static struct call_arguments *make_arguments(size_t bytes)
{
	struct call_arguments *arguments = malloc(sizeof(*arguments) + bytes);

	arguments->bytes = bytes;
	return arguments;
}

TEST(bars_are_fourths_of_octaves)
{
	static const uint64_t edges[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,
					  10, 12, 14, 16, 20, 24, 28, 32, 40 };

	for (uint32_t i = 0; i + 1 < ARRAY_SIZE(edges); i++) {
		ck_assert_uint_eq(slowest_bar(edges[i]), i);
		ck_assert_uint_eq(slowest_bar(edges[i + 1] - 1), i);
		ck_assert_uint_eq(slowest_bar_ns(i), edges[i]);
	}
	for (unsigned int shift = 0; shift < 64; shift++)
		ck_assert_uint_eq(
			slowest_bar_ns(slowest_bar(UINT64_C(1) << shift)),
			UINT64_C(1) << shift);
	ck_assert_uint_lt(slowest_bar(UINT64_MAX), TIME_NODES_MAX);
}

/* Adds calls of two functions in turn. Each duration comes once, in a shuffled
 * order. */
TEST(the_slowest_calls_of_each_function_are_kept)
{
	const uint32_t calls = 1009;

	for (uint32_t i = 0; i < calls; i++)
		for (uint32_t name = 7; name < 9; name++) {
			uint64_t took = i * UINT64_C(500) % calls + name;
			struct slow_call *call = slowest_add(&g_slowest, name,
							     1000000 + i, took);

			if (call)
				slowest_set_arguments(&g_slowest, call,
						      make_arguments(took));
		}
	slowest_finish(&g_slowest);
	ck_assert_uint_eq(g_slowest.count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct slow_function *function = &g_slowest.functions[i];

		ck_assert_uint_eq(function->name, 7 + i);
		ck_assert_uint_eq(function->count, SLOWEST_CALLS);
		for (uint32_t k = 0; k < SLOWEST_CALLS; k++) {
			const struct slow_call *call = &function->calls[k];

			ck_assert_uint_eq(call->took_ns, calls - 1 - k + 7 + i);
			ck_assert_uint_eq(call->arguments->bytes,
					  call->took_ns);
		}
	}
}

TEST(each_call_is_in_one_bar)
{
	uint64_t sum = 0, many = 0;

	for (uint32_t i = 0; i < 5000; i++)
		slowest_add(&g_slowest, 3, UINT64_C(1000000) * i,
			    i % 10 ? 1000 : 70000);
	slowest_finish(&g_slowest);
	for (uint32_t i = 0; i < g_slowest.bars.count; i++) {
		const struct time_cell *cell = &g_slowest.bars.cells[i];

		ck_assert_uint_eq(time_cells_thread(cell), 0);
		sum += cell->calls;
		if (slowest_bar_ns(time_cells_node(cell)) == 896)
			many += cell->calls;
	}
	ck_assert_uint_eq(sum, 5000);
	ck_assert_uint_eq(many, 4500);
}

/* A program that passes large texts, and one with very many functions. */
TEST(memory_is_bounded)
{
	for (uint32_t name = 1; name < 100; name++)
		slowest_set_arguments(&g_slowest,
				      slowest_add(&g_slowest, name, 5, 5),
				      make_arguments(100000));
	ck_assert_uint_le(g_slowest.argument_bytes, 4 << 20);
	ck_assert_ptr_nonnull(g_slowest.functions[0].calls[0].arguments);
	ck_assert_ptr_null(g_slowest.functions[98].calls[0].arguments);
	for (uint32_t name = 1; name < SLOWEST_FUNCTIONS + 10; name++)
		slowest_add(&g_slowest, name, 5, 5);
	ck_assert_uint_eq(g_slowest.count, SLOWEST_FUNCTIONS);
	ck_assert_uint_eq(g_slowest.refused, 9);
}
