/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/base/budget.h"
#include "collector/samples/requests.h"
#include "tests/suite.h"

static struct budget g_budget;
static struct requests g_requests;

static void change(pid_t tid, uint64_t ns, uint8_t what)
{
	const struct trace_ids ids = { .trace = { what } };

	requests_change(&g_requests, tid, ns, &ids);
}

/* -1: unknown */
static int at(pid_t tid, uint64_t ns)
{
	struct trace_ids ids;

	return requests_at(&g_requests, tid, ns, &ids) ? ids.trace[0] : -1;
}

TEST(requests_are_those_of_the_time)
{
	g_budget = (struct budget){ .left = 1 << 20 };
	requests_init(&g_requests, &g_budget);
	ck_assert_int_eq(at(1, 100), 0);
	change(1, 100, 7);
	change(2, 150, 8);
	change(1, 200, 9);
	change(1, 300, 0);
	ck_assert_int_eq(at(1, 99), 0);
	ck_assert_int_eq(at(1, 100), 7);
	ck_assert_int_eq(at(1, 199), 7);
	ck_assert_int_eq(at(1, 200), 9);
	ck_assert_int_eq(at(1, 300), 0);
	ck_assert_int_eq(at(2, 149), 0);
	ck_assert_int_eq(at(2, UINT64_MAX), 8);
	ck_assert_int_eq(at(3, 150), 0);
	requests_release(&g_requests);
	ck_assert_uint_eq(g_budget.left, 1 << 20);
}

TEST(requests_of_long_ago_are_forgotten)
{
	enum { CHANGES = 100000 };

	g_budget = (struct budget){ .left = 4 << 20 };
	requests_init(&g_requests, &g_budget);
	for (uint64_t ns = 1; ns <= CHANGES; ns++)
		change(1, ns, ns % 2 + 1);
	ck_assert_int_eq(at(1, 1), -1);
	ck_assert_int_eq(at(1, CHANGES), CHANGES % 2 + 1);
	ck_assert_int_eq(at(1, CHANGES - 5000), CHANGES % 2 + 1);
	ck_assert_uint_gt(g_budget.left, 3 << 20);
	requests_release(&g_requests);
}

TEST(requests_without_memory_forget_sooner)
{
	g_budget = (struct budget){ .left = 1 << 20 };
	requests_init(&g_requests, &g_budget);
	change(1, 1, 1);
	g_budget.left = 0;
	for (uint64_t ns = 2; ns <= 1000; ns++)
		change(1, ns, ns % 2 + 1);
	change(2, 1, 1);
	ck_assert_int_eq(at(1, 500), -1);
	ck_assert_int_eq(at(1, 999), 2);
	ck_assert_int_eq(at(1, 1000), 1);
	requests_release(&g_requests);
}

TEST(requests_of_ended_threads_take_no_memory)
{
	enum { THREADS = 20000 };
	const uint64_t s = 1000000000;

	g_budget = (struct budget){ .left = 8 << 20 };
	requests_init(&g_requests, &g_budget);
	for (pid_t tid = 1; tid <= THREADS; tid++) {
		change(tid, (uint64_t)tid * s, 1);
		change(tid, (uint64_t)tid * s + s, 0);
	}
	ck_assert_int_eq(at(1, s), -1);
	ck_assert_int_eq(at(1, 2 * s), 0);
	ck_assert_int_eq(at(THREADS - 10, (THREADS - 10) * s), 1);
	ck_assert_int_eq(at(THREADS, THREADS * s), 1);
	ck_assert_int_eq(at(THREADS, THREADS * s + s), 0);
	change(1, THREADS * s, 2);
	ck_assert_int_eq(at(1, s), -1);
	ck_assert_int_eq(at(1, THREADS * s - 1), 0);
	ck_assert_int_eq(at(1, THREADS * s), 2);
	requests_release(&g_requests);
	ck_assert_uint_eq(g_budget.left, 8 << 20);
}
