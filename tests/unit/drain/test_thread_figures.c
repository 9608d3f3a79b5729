/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/thread_figures.h"
#include "tests/suite.h"

#define MS UINT64_C(1000000)
#define MOST UINT64_MAX

static const struct task_times g_base = {
	.on_cpu_ns = 20 * MS,
	.delay_ns = 3 * MS,
	.user_ns = 12 * MS,
	.system_ns = 8 * MS,
	.minor_faults = 100,
	.major_faults = 1,
};

/* g_base plus possible values of 100 ms. */
static const struct task_times g_good = {
	.on_cpu_ns = 60 * MS,
	.delay_ns = 43 * MS,
	.user_ns = 32 * MS,
	.system_ns = 28 * MS,
	.minor_faults = 1000,
	.major_faults = 2,
};

static bool is_possible(const struct task_times *times)
{
	const struct thread_end end = { .times = *times,
					.base = g_base,
					.has_base = true };

	return thread_figures_possible(&end, 100 * MS);
}

TEST(thread_figures_of_an_honest_thread_are_possible)
{
	struct task_times all_ran = g_base;

	ck_assert(is_possible(&g_good));
	ck_assert(is_possible(&g_base));
	all_ran.on_cpu_ns += 100 * MS;
	all_ran.user_ns += 100 * MS;
	ck_assert(is_possible(&all_ran));
}

#define WITH(field, value)                                  \
	{                                                   \
		offsetof(struct task_times, field), (value) \
	}

static const struct {
	size_t offset;
	uint64_t value;
} g_lies[] = {
	WITH(on_cpu_ns, 20 * MS - 1),
	WITH(on_cpu_ns, 131 * MS),
	WITH(on_cpu_ns, MOST),
	WITH(on_cpu_ns, MOST - 20 * MS),
	WITH(delay_ns, 3 * MS - 1),
	WITH(delay_ns, 114 * MS),
	/* Possible, but not both. */
	WITH(delay_ns, 80 * MS),
	WITH(delay_ns, MOST),
	WITH(user_ns, 12 * MS - 1),
	WITH(user_ns, 123 * MS),
	WITH(user_ns, 110 * MS),
	WITH(user_ns, MOST),
	WITH(user_ns, 0),
	WITH(system_ns, 8 * MS - 1),
	WITH(system_ns, 119 * MS),
	WITH(system_ns, MOST),
	WITH(minor_faults, 99),
	WITH(minor_faults, MOST),
	WITH(minor_faults, 20000000),
	WITH(major_faults, 0),
	WITH(major_faults, MOST),
};

TEST(thread_figures_that_cannot_be_are_not_believed,
     EACH(0, ARRAY_SIZE(g_lies)))
{
	struct task_times times = g_good;

	*(uint64_t *)((char *)&times + g_lies[_i].offset) = g_lies[_i].value;
	ck_assert(!is_possible(&times));
}
