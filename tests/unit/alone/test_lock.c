/* SPDX-License-Identifier: Apache-2.0
 *
 * Not every build has the checks, so this test compiles its own copy.
 */
#ifndef LOCK_CHECK
#define LOCK_CHECK
#endif
#include "collector/base/lock.c" /* NOLINT(bugprone-suspicious-include) */

#include <signal.h>

#include "tests/suite.h"

static struct lock g_outer, g_inner, g_next;

static void setup(void)
{
	lock_init(&g_outer, LOCK_ARENA);
	lock_init(&g_inner, LOCK_RECORDING);
	lock_init(&g_next, LOCK_RECORDING);
}

FIXTURE(setup, NULL);

TEST(lock_in_order_is_taken)
{
	for (int i = 0; i < 2 * HELD_MAX; i++) {
		lock_acquire(&g_outer);
		lock_acquire(&g_inner);
		lock_release(&g_inner);
		lock_release(&g_outer);
	}
}

TEST(lock_released_in_any_order_is_forgotten)
{
	lock_acquire(&g_outer);
	lock_acquire(&g_inner);
	lock_release(&g_outer);
	lock_release(&g_inner);
	lock_acquire(&g_outer);
	lock_release(&g_outer);
}

TEST(lock_out_of_order_aborts, SIGNAL(SIGABRT))
{
	lock_acquire(&g_inner);
	lock_acquire(&g_outer);
}

TEST(lock_tried_out_of_order_aborts, SIGNAL(SIGABRT))
{
	lock_acquire(&g_inner);
	lock_try(&g_outer);
}

TEST(lock_of_the_same_rank_aborts, SIGNAL(SIGABRT))
{
	lock_acquire(&g_inner);
	lock_acquire(&g_next);
}

TEST(lock_of_the_same_rank_is_taken_in_a_chain)
{
	lock_acquire(&g_inner);
	lock_acquire_chained(&g_next);
	lock_release(&g_next);
	lock_release(&g_inner);
}

TEST(lock_that_is_not_held_aborts, SIGNAL(SIGABRT))
{
	lock_release(&g_inner);
}

TEST(lock_that_was_never_initialised_aborts, SIGNAL(SIGABRT))
{
	static struct lock zero;

	lock_acquire(&zero);
}

static void *try_inner(void *took)
{
	*(bool *)took = lock_try(&g_inner);
	if (*(bool *)took)
		lock_release(&g_inner);
	return NULL;
}

static bool another_can_take_inner(void)
{
	pthread_t thread;
	bool took;

	ck_assert_int_eq(pthread_create(&thread, NULL, try_inner, &took), 0);
	pthread_join(thread, NULL);
	return took;
}

TEST(lock_excludes_others_until_released)
{
	lock_acquire(&g_inner);
	ck_assert(!another_can_take_inner());
	lock_release(&g_inner);
	ck_assert(another_can_take_inner());
}

TEST(lock_order_is_of_each_thread)
{
	lock_acquire(&g_outer);
	ck_assert(another_can_take_inner());
	lock_release(&g_outer);
}
