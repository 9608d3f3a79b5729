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

START_TEST(lock_in_order_is_taken)
{
	for (int i = 0; i < 2 * HELD_MAX; i++) {
		lock_acquire(&g_outer);
		lock_acquire(&g_inner);
		lock_release(&g_inner);
		lock_release(&g_outer);
	}
}
END_TEST

START_TEST(lock_released_in_any_order_is_forgotten)
{
	lock_acquire(&g_outer);
	lock_acquire(&g_inner);
	lock_release(&g_outer);
	lock_release(&g_inner);
	lock_acquire(&g_outer);
	lock_release(&g_outer);
}
END_TEST

START_TEST(lock_out_of_order_aborts)
{
	lock_acquire(&g_inner);
	lock_acquire(&g_outer);
}
END_TEST

START_TEST(lock_tried_out_of_order_aborts)
{
	lock_acquire(&g_inner);
	lock_try(&g_outer);
}
END_TEST

START_TEST(lock_of_the_same_rank_aborts)
{
	lock_acquire(&g_inner);
	lock_acquire(&g_next);
}
END_TEST

START_TEST(lock_of_the_same_rank_is_taken_in_a_chain)
{
	lock_acquire(&g_inner);
	lock_acquire_chained(&g_next);
	lock_release(&g_next);
	lock_release(&g_inner);
}
END_TEST

START_TEST(lock_that_is_not_held_aborts)
{
	lock_release(&g_inner);
}
END_TEST

START_TEST(lock_that_was_never_initialised_aborts)
{
	static struct lock zero;

	lock_acquire(&zero);
}
END_TEST

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

START_TEST(lock_excludes_others_until_released)
{
	lock_acquire(&g_inner);
	ck_assert(!another_can_take_inner());
	lock_release(&g_inner);
	ck_assert(another_can_take_inner());
}
END_TEST

START_TEST(lock_order_is_of_each_thread)
{
	lock_acquire(&g_outer);
	ck_assert(another_can_take_inner());
	lock_release(&g_outer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lock");
	TCase *tcase = suite_case(suite, "order");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, lock_in_order_is_taken);
	tcase_add_test(tcase, lock_released_in_any_order_is_forgotten);
	tcase_add_test_raise_signal(tcase, lock_out_of_order_aborts, SIGABRT);
	tcase_add_test_raise_signal(tcase, lock_tried_out_of_order_aborts,
				    SIGABRT);
	tcase_add_test_raise_signal(tcase, lock_of_the_same_rank_aborts,
				    SIGABRT);
	tcase_add_test(tcase, lock_of_the_same_rank_is_taken_in_a_chain);
	tcase_add_test_raise_signal(tcase, lock_that_is_not_held_aborts,
				    SIGABRT);
	tcase_add_test_raise_signal(
		tcase, lock_that_was_never_initialised_aborts, SIGABRT);
	tcase_add_test(tcase, lock_excludes_others_until_released);
	tcase_add_test(tcase, lock_order_is_of_each_thread);
	return suite_run(suite);
}
